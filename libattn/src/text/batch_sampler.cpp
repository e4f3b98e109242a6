#include <algorithm>
#include <cstdint>
#include <numeric>
#include <tuple>
#include <utility>

#include "attn/core/error.h"
#include "attn/text/batches.h"
#include "attn/text/shuffle.h"

namespace attn {
namespace {

/// A generator for one epoch; mixing the seed first keeps (seed, epoch + 1) apart from (seed + 1, epoch).
SplitMix64 epoch_generator(std::uint64_t seed, std::uint64_t epoch) {
  return SplitMix64(SplitMix64(seed).next() ^ SplitMix64(~epoch).next());
}

/// An order of lengths: bands of two target lengths, in which the source length rises and falls by turns, so
/// that neighbours are alike on both sides, also from one band to the next. Where bands begin, and which of
/// them rise, is for each epoch to choose: batches would otherwise be the same wherever lengths are rare.
struct BucketOrder {
  std::uint32_t begin = 0, falling = 0;  // 0 or 1

  std::tuple<std::uint32_t, std::uint32_t, std::uint32_t> key(const PairLength& length) const {
    const std::uint32_t band = (length.target + begin) / 2;
    return {band, band % 2 == falling ? length.source : ~length.source, length.target};
  }
};

}  // namespace

BatchSampler::BatchSampler(const EncodedCorpus& corpus, BatchOptions options, std::uint64_t seed)
    : corpus_(&corpus), options_(options), seed_(seed) {
  if (options.batch_size.has_value() == options.batch_tokens.has_value()) {
    fail(ExitCode::config, "set exactly one of batch_size (sentences) and batch_tokens");
  }
  if (options.batch_size == std::size_t{0}) fail(ExitCode::config, "batch_size must be at least 1, found 0");
  if (options.batch_tokens == std::size_t{0})
    fail(ExitCode::config, "batch_tokens must be at least 1, found 0");
  if (options.sort_window == 0) fail(ExitCode::config, "sort_window must be at least 1, found 0");
  if (corpus.size() == 0) fail(ExitCode::input_data, "there are no sentence pairs to make batches of");
}

void BatchSampler::split(std::span<const std::size_t> order, BatchPlan::Range part,
                         std::vector<BatchPlan::Range>& batches) const {
  PairLength longest;
  std::size_t begin = part.begin;
  for (std::size_t i = part.begin; i < part.end; ++i) {
    const PairLength& length = corpus_->length(order[i]);
    const PairLength wider{std::max(longest.source, length.source), std::max(longest.target, length.target)};
    const std::size_t grown = i - begin + 1;
    const bool fits = options_.batch_size
                          ? grown <= *options_.batch_size
                          : grown * (std::size_t{wider.source} + wider.target) <= *options_.batch_tokens;
    if (fits || i == begin) {
      longest = wider;
      continue;
    }
    batches.push_back({begin, i});
    begin = i;
    longest = length;
  }
  batches.push_back({begin, part.end});
}

BatchPlan BatchSampler::epoch(std::uint64_t number) const {
  SplitMix64 generator = epoch_generator(seed_, number);
  std::vector<std::size_t> order(corpus_->size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (options_.shuffle) shuffle(std::span(order), generator);
  std::vector<BatchPlan::Range> batches;
  if (options_.bucket_by_length) {
    BucketOrder buckets;
    if (options_.shuffle) {
      buckets.begin = static_cast<std::uint32_t>(generator.below(2));
      buckets.falling = static_cast<std::uint32_t>(generator.below(2));
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return buckets.key(corpus_->length(a)) < buckets.key(corpus_->length(b));
    });
    split(order, {0, order.size()}, batches);
    if (options_.shuffle) shuffle(std::span(batches), generator);
    return {*corpus_, std::move(order), std::move(batches)};
  }
  if (!options_.sort_by_length) {
    split(order, {0, order.size()}, batches);
    return {*corpus_, std::move(order), std::move(batches)};
  }
  const auto shorter = [&](std::size_t a, std::size_t b) {
    const PairLength &first = corpus_->length(a), &second = corpus_->length(b);
    return std::pair(first.target, first.source) < std::pair(second.target, second.source);
  };
  const std::size_t window = options_.shuffle ? options_.sort_window : order.size();
  for (std::size_t begin = 0; begin < order.size(); begin += window) {
    const BatchPlan::Range part{begin, std::min(begin + window, order.size())};
    const auto at = [&](std::size_t i) { return order.begin() + static_cast<std::ptrdiff_t>(i); };
    std::stable_sort(at(part.begin), at(part.end), shorter);
    split(order, part, batches);
  }
  if (options_.shuffle) shuffle(std::span(batches), generator);
  return {*corpus_, std::move(order), std::move(batches)};
}

std::size_t BatchPlan::positions(std::size_t k) const {
  PairLength longest;
  for (const std::size_t index : indices(k)) {
    longest.source = std::max(longest.source, corpus_->length(index).source);
    longest.target = std::max(longest.target, corpus_->length(index).target);
  }
  return indices(k).size() * (std::size_t{longest.source} + longest.target);
}

double BatchPlan::padding() const {
  std::size_t all = 0, filled = 0;
  for (std::size_t k = 0; k < size(); ++k) all += positions(k);
  for (const std::size_t index : order_)
    filled += std::size_t{corpus_->length(index).source} + corpus_->length(index).target;
  return 1.0 - static_cast<double>(filled) / static_cast<double>(std::max<std::size_t>(1, all));
}

}  // namespace attn
