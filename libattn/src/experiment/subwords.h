#pragma once
// The part of an experiment that is about subwords: its keys, and the tokenizers that they describe.
#include <cstdint>

#include "attn/experiment/experiment_config.h"
#include "attn/io/config_schema.h"
#include "attn/text/text_processing.h"
#include "pair_passes.h"

namespace attn {

/// Declares the keys subwords.*; `config` outlives the schema.
void describe_subwords(config::Schema& schema, SubwordConfig& config);

/// Reports keys of subwords that contradict the tokenizers, or each other.
void check_subwords(config::Schema& schema, const DataConfig& data);

/// Sets the tokenizers that need no training: by name, or from a file of subwords. Throws what Tokenizer,
/// SentencePieceModel and BpeCodes throw.
void set_tokenizers(const DataConfig& config, TextProcessing& text);

/// Trains SentencePiece models for the sides that ask for one and name no file. Throws what
/// SentencePieceModel::train throws.
void train_tokenizers(const DataConfig& config, const PairPasses& pairs, std::uint64_t seed,
                      TextProcessing& text);

}  // namespace attn
