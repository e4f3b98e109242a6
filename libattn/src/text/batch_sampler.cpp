#include <algorithm>
#include <numeric>
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

std::vector<std::vector<std::size_t>> BatchSampler::split(std::span<const std::size_t> order) const {
  std::vector<std::vector<std::size_t>> batches;
  std::size_t source_steps = 0;
  std::size_t target_steps = 0;
  for (const std::size_t index : order) {
    source_steps = std::max(source_steps, corpus_->source().rows[index].size());
    target_steps = std::max(target_steps, corpus_->target().rows[index].size());
    const std::size_t grown = batches.empty() ? 0 : batches.back().size() + 1;
    const bool fits =
        grown > 0 && (options_.batch_size ? grown <= *options_.batch_size
                                          : grown * (source_steps + target_steps) <= *options_.batch_tokens);
    if (!fits) {
      batches.emplace_back();
      source_steps = corpus_->source().rows[index].size();
      target_steps = corpus_->target().rows[index].size();
    }
    batches.back().push_back(index);
  }
  return batches;
}

BatchPlan BatchSampler::epoch(std::uint64_t number) const {
  SplitMix64 generator = epoch_generator(seed_, number);
  std::vector<std::size_t> order(corpus_->size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (options_.shuffle) shuffle(std::span(order), generator);
  if (!options_.sort_by_length) return {*corpus_, split(order)};

  const auto shorter = [&](std::size_t a, std::size_t b) {
    const auto key = [&](std::size_t i) {
      return std::pair(corpus_->target().rows[i].size(), corpus_->source().rows[i].size());
    };
    return key(a) < key(b);
  };
  std::vector<std::vector<std::size_t>> batches;
  const std::size_t window = options_.shuffle ? options_.sort_window : order.size();
  for (std::size_t begin = 0; begin < order.size(); begin += window) {
    const std::span<std::size_t> part =
        std::span(order).subspan(begin, std::min(window, order.size() - begin));
    std::stable_sort(part.begin(), part.end(), shorter);
    for (auto& batch : split(part)) batches.push_back(std::move(batch));
  }
  if (options_.shuffle) shuffle(std::span(batches), generator);
  return {*corpus_, std::move(batches)};
}

}  // namespace attn
