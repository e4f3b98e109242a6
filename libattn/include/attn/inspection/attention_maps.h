#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/inspection/attention_archive_writer.h"
#include "attn/models/translation_model.h"

namespace attn {

/// Which maps of a model are wanted; nothing said means all.
struct AttentionSelection {
  std::vector<AttentionKind> kinds = {};
  std::vector<std::int32_t> layers = {}, heads = {};  ///< from 0
};

/// The maps of `model` that are selected, kinds in the order of AttentionKind, indices rising. Throws
/// Error(usage) for a model without attention, and for a kind, layer or head that it does not have, with
/// those that it has.
std::vector<AttentionArchiveLayout::Kind> select_attention(const TranslationModel& model,
                                                           const AttentionSelection& selection);

/// The maps of one sentence: blocks [layers, heads, queries, keys] in the order of the kinds asked for,
/// without padding; and the log-probability of the target in nats.
struct SentenceMaps {
  std::vector<std::vector<float>> blocks;
  double log_probability = 0.0;
};

/// Runs the model along given targets (without <bos>) and records its attention: post-softmax, before
/// dropout. One result for each sentence of the batch. Queries of the decoder are its inputs, <bos> first, as
/// many as the target has tokens. `context` may carry an observer of activations.
std::vector<SentenceMaps> record_attention(const TranslationModel& model,
                                           std::span<const AttentionArchiveLayout::Kind> kinds,
                                           const TokenBatch& source,
                                           std::span<const std::vector<std::int32_t>> targets,
                                           Context context = {});

}  // namespace attn
