#include <algorithm>
#include <utility>

#include "attn/core/error.h"
#include "attn/text/batches.h"

namespace attn {
namespace {

/// Copies row `indices[b]` of `rows` to row b of a padded matrix [indices, steps].
std::vector<std::int32_t> padded_matrix(const std::vector<std::vector<std::int32_t>>& rows,
                                        std::span<const std::size_t> indices, std::size_t steps) {
  std::vector<std::int32_t> matrix(indices.size() * steps, Vocabulary::pad);
  for (std::size_t b = 0; b < indices.size(); ++b) {
    const auto& row = rows.at(indices[b]);
    std::copy(row.begin(), row.end(), matrix.begin() + static_cast<std::ptrdiff_t>(b * steps));
  }
  return matrix;
}

std::size_t longest_row(const std::vector<std::vector<std::int32_t>>& rows,
                        std::span<const std::size_t> indices) {
  std::size_t longest = 0;
  for (const std::size_t index : indices) longest = std::max(longest, rows.at(index).size());
  return longest;
}

/// Shifts labels [size, steps] right by one and puts bos first.
std::vector<std::int32_t> shifted_right(const std::vector<std::int32_t>& labels, std::size_t steps) {
  std::vector<std::int32_t> shifted(labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i)
    shifted[i] = i % steps == 0 ? Vocabulary::bos : labels[i - 1];
  return shifted;
}

}  // namespace

EncodedCorpus::EncodedCorpus(EncodingOptions options) : options_(options) {
  if (options.steps && options.max_length) {
    fail(ExitCode::config,
         "steps and max_length exclude each other: steps fixes the length of every sentence");
  }
  if (options.steps == std::size_t{0}) fail(ExitCode::config, "steps must be at least 1, found 0");
  if (options.max_length == std::size_t{0}) fail(ExitCode::config, "max_length must be at least 1, found 0");
}

EncodedCorpus::EncodedCorpus(std::span<const std::vector<std::string>> source,
                             std::span<const std::vector<std::string>> target,
                             std::span<const std::size_t> lines, const Vocabulary& source_vocabulary,
                             const Vocabulary& target_vocabulary, EncodingOptions options)
    : EncodedCorpus(options) {
  if (source.size() != target.size() || source.size() != lines.size()) {
    fail(ExitCode::internal,
         "encoding {} source and {} target sentences with {} line numbers: the counts must agree",
         source.size(), target.size(), lines.size());
  }
  for (std::size_t i = 0; i < source.size(); ++i) {
    add(source_vocabulary.encode(source[i]), target_vocabulary.encode(target[i]), lines[i]);
  }
}

void EncodedCorpus::add_row(EncodedSide& side, std::vector<std::int32_t> ids, std::size_t line) const {
  side.tokens += ids.size();
  side.unknown += static_cast<std::size_t>(std::count(ids.begin(), ids.end(), Vocabulary::unk));
  ids.push_back(Vocabulary::eos);
  const std::size_t longest = options_.steps.value_or(options_.max_length.value_or(ids.size()));
  if (ids.size() > longest) {
    ids.resize(longest);
    if (options_.max_length) ids.back() = Vocabulary::eos;
    side.cropped_lines.push_back(line);
  }
  side.rows.push_back(std::move(ids));
}

void EncodedCorpus::add(std::vector<std::int32_t> source, std::vector<std::int32_t> target,
                        std::size_t line) {
  add_row(source_, std::move(source), line);
  add_row(target_, std::move(target), line);
  lines_.push_back(line);
  target_tokens_ += static_cast<std::int64_t>(target_.rows.back().size());
}

Batch EncodedCorpus::make_batch(std::span<const std::size_t> indices) const {
  if (indices.empty()) fail(ExitCode::internal, "a batch needs at least one sentence");
  const std::size_t source_steps = options_.steps.value_or(longest_row(source_.rows, indices));
  const std::size_t target_steps = options_.steps.value_or(longest_row(target_.rows, indices));
  Batch batch;
  batch.size = static_cast<std::int64_t>(indices.size());
  batch.source_steps = static_cast<std::int64_t>(source_steps);
  batch.target_steps = static_cast<std::int64_t>(target_steps);
  batch.source = padded_matrix(source_.rows, indices, source_steps);
  batch.labels = padded_matrix(target_.rows, indices, target_steps);
  batch.decoder_input = shifted_right(batch.labels, target_steps);
  for (const std::size_t index : indices) {
    batch.source_valid_lengths.push_back(static_cast<std::int32_t>(source_.rows[index].size()));
    batch.target_valid_lengths.push_back(static_cast<std::int32_t>(target_.rows[index].size()));
    batch.lines.push_back(lines_[index]);
    batch.target_tokens += batch.target_valid_lengths.back();
  }
  return batch;
}

}  // namespace attn
