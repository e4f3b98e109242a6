#pragma once
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "attn/models/translation_model.h"

namespace attn {

/// (source token, target token), both counted from 0.
using AlignmentLink = std::pair<std::int64_t, std::int64_t>;

/// Whether the model attends from target tokens to source tokens, so that they can be aligned.
bool can_align(const TranslationModel& model);

/// For every token of every target, the source token with the largest attention weight, averaged over layers
/// and heads, in a forced pass over the target (Koehn & Knowles, 2017, section 3.5). Only the first
/// `source_tokens[b]` tokens of source b can be linked to, so that its <eos> and padding are left out; a
/// sentence without any has no links. Targets are without <bos> and <eos>. Throws Error(usage) for a model
/// that cannot align.
std::vector<std::vector<AlignmentLink>> attention_alignments(
    const TranslationModel& model, const TokenBatch& source, std::span<const std::int32_t> source_tokens,
    std::span<const std::vector<std::int32_t>> targets);

}  // namespace attn
