#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "attn/nn/context.h"

/// Names of the attention archive that reader, writer and check share (docs/file-formats.md).
namespace attn::archive {

inline constexpr std::array kinds{AttentionKind::encoder_self, AttentionKind::decoder_self,
                                  AttentionKind::cross, AttentionKind::rnn_cross};

inline constexpr const char* source_tokens = "/tokens/source";
inline constexpr const char* target_tokens = "/tokens/target";
inline constexpr const char* decoder_input_tokens = "/tokens/decoder_input";
inline constexpr std::array token_groups{source_tokens, target_tokens, decoder_input_tokens};
/// By the text: equal literals need not have equal addresses.
constexpr bool is_source(std::string_view tokens) noexcept {
  return tokens == source_tokens;
}

inline constexpr const char* stage = "post_softmax_pre_dropout";
/// SUBSTITUTE, which stands for NUL in the texts.
inline constexpr char nul_substitute = '\x1a';

inline constexpr const char* consumes = "consumes";
inline constexpr const char* predicts = "predicts";

inline std::string group_of(AttentionKind kind) {
  return std::string("/attention/") + name_of(kind);
}

/// What is so for every map of a kind, whatever the model.
struct KindTraits {
  bool causal;
  const char* score;
  const char* query_tokens;
  const char* key_tokens;
  const char* query_row;
};

/// A decoder's row q has been fed token q and predicts the next one. In self-attention its keys are tokens
/// that were fed, so that queries are named by what they consume; elsewhere by what they predict, which is
/// what alignments are about.
constexpr KindTraits traits_of(AttentionKind kind) noexcept {
  switch (kind) {
    case AttentionKind::encoder_self:
      return {false, "scaled_dot", source_tokens, source_tokens, consumes};
    case AttentionKind::decoder_self:
      return {true, "scaled_dot", decoder_input_tokens, decoder_input_tokens, consumes};
    case AttentionKind::cross:
      return {false, "scaled_dot", target_tokens, source_tokens, predicts};
    case AttentionKind::rnn_cross:
      break;
  }
  return {false, "additive", target_tokens, source_tokens, predicts};
}

}  // namespace attn::archive
