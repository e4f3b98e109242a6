#include <algorithm>
#include <utility>

#include "attn/core/error.h"
#include "attn/text/batches.h"

namespace attn {
namespace {

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

EncodedCorpus::EncodedCorpus(std::shared_ptr<const PairStorage> storage, EncodingOptions options,
                             EncodedSide source, EncodedSide target)
    : EncodedCorpus(options) {
  source_ = std::move(source);
  target_ = std::move(target);
  storage_ = std::move(storage);
  lengths_ = storage_->lengths();
  for (const PairLength& length : lengths_) target_tokens_ += length.target;
}

void finish_row(std::vector<std::int32_t>& ids, std::size_t line, const EncodingOptions& options,
                EncodedSide& side) {
  side.tokens += ids.size();
  side.unknown += static_cast<std::size_t>(std::count(ids.begin(), ids.end(), Vocabulary::unk));
  ids.push_back(Vocabulary::eos);
  const std::size_t longest = options.steps.value_or(options.max_length.value_or(ids.size()));
  if (ids.size() <= longest) return;
  ids.resize(longest);
  if (options.max_length) ids.back() = Vocabulary::eos;
  side.cropped_lines.add(line);
}

void EncodedCorpus::add(std::vector<std::int32_t> source, std::vector<std::int32_t> target,
                        std::size_t line) {
  if (storage_) fail(ExitCode::internal, "pairs cannot be added to a corpus whose rows lie in a storage");
  finish_row(source, line, options_, source_);
  finish_row(target, line, options_, target_);
  begins_.push_back(ids_.size());
  ids_.insert(ids_.end(), source.begin(), source.end());
  ids_.insert(ids_.end(), target.begin(), target.end());
  lengths_.push_back({static_cast<std::uint32_t>(source.size()), static_cast<std::uint32_t>(target.size())});
  lines_.push_back(line);
  target_tokens_ += static_cast<std::int64_t>(target.size());
}

std::size_t EncodedCorpus::copy(std::size_t index, std::span<std::int32_t> source,
                                std::span<std::int32_t> target) const {
  if (storage_) return storage_->read(index, source, target);
  const auto row = ids_.begin() + static_cast<std::ptrdiff_t>(begins_[index]);
  std::copy_n(row, source.size(), source.begin());
  std::copy_n(row + static_cast<std::ptrdiff_t>(source.size()), target.size(), target.begin());
  return lines_[index];
}

EncodedPair EncodedCorpus::pair(std::size_t index) const {
  EncodedPair pair{std::vector<std::int32_t>(length(index).source),
                   std::vector<std::int32_t>(length(index).target)};
  pair.line = copy(index, pair.source, pair.target);
  return pair;
}

Batch EncodedCorpus::make_batch(std::span<const std::size_t> indices) const {
  if (indices.empty()) fail(ExitCode::internal, "a batch needs at least one sentence");
  std::size_t source_steps = options_.steps.value_or(0), target_steps = source_steps;
  for (const std::size_t index : indices) {
    source_steps = std::max<std::size_t>(source_steps, length(index).source);
    target_steps = std::max<std::size_t>(target_steps, length(index).target);
  }
  Batch batch;
  batch.size = static_cast<std::int64_t>(indices.size());
  batch.source_steps = static_cast<std::int64_t>(source_steps);
  batch.target_steps = static_cast<std::int64_t>(target_steps);
  batch.source.assign(indices.size() * source_steps, Vocabulary::pad);
  batch.labels.assign(indices.size() * target_steps, Vocabulary::pad);
  for (std::size_t b = 0; b < indices.size(); ++b) {
    const PairLength& lengths = length(indices[b]);
    batch.lines.push_back(copy(indices[b], std::span(batch.source).subspan(b * source_steps, lengths.source),
                               std::span(batch.labels).subspan(b * target_steps, lengths.target)));
    batch.source_valid_lengths.push_back(static_cast<std::int32_t>(lengths.source));
    batch.target_valid_lengths.push_back(static_cast<std::int32_t>(lengths.target));
    batch.target_tokens += batch.target_valid_lengths.back();
  }
  batch.decoder_input = shifted_right(batch.labels, target_steps);
  return batch;
}

}  // namespace attn
