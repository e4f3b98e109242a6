#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "attn/text/batches.h"
#include "attn/text/shuffle.h"
#include "support/catch.h"
#include "support/error_of.h"

using namespace attn;
using test::error_of;

namespace {

using Ids = std::vector<std::int32_t>;

/// `count` pairs whose lengths vary; pair i comes from line i + 1 and begins with id 4 + i.
EncodedCorpus varied_corpus(std::size_t count) {
  EncodedCorpus corpus;
  for (std::size_t i = 0; i < count; ++i) {
    corpus.add(Ids(1 + i * 7 % 11, static_cast<std::int32_t>(4 + i)), Ids(1 + i * 5 % 13, 4), i + 1);
  }
  return corpus;
}

std::vector<std::size_t> all_indices(const BatchPlan& plan) {
  std::vector<std::size_t> indices;
  for (std::size_t k = 0; k < plan.size(); ++k) {
    indices.insert(indices.end(), plan.indices(k).begin(), plan.indices(k).end());
  }
  return indices;
}

bool covers_each_once(std::vector<std::size_t> indices, std::size_t count) {
  std::sort(indices.begin(), indices.end());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] != i) return false;
  }
  return indices.size() == count;
}

}  // namespace

TEST_CASE("a batch is padded to its longest sentences, with bos before and eos after") {
  EncodedCorpus corpus;
  corpus.add({4, 5}, {6}, 1);
  corpus.add({7}, {8, 9, 10}, 3);
  const Batch batch = corpus.make_batch(std::vector<std::size_t>{1, 0});
  CHECK(batch.size == 2);
  CHECK(batch.source_steps == 3);
  CHECK(batch.target_steps == 4);
  CHECK(batch.source == Ids{7, 3, 1, 4, 5, 3});
  CHECK(batch.source_valid_lengths == Ids{2, 3});
  CHECK(batch.labels == Ids{8, 9, 10, 3, 6, 3, 1, 1});
  CHECK(batch.decoder_input == Ids{2, 8, 9, 10, 2, 6, 3, 1});
  CHECK(batch.target_valid_lengths == Ids{4, 2});
  CHECK(batch.lines == std::vector<std::size_t>{3, 1});
  CHECK(batch.target_tokens == 6);
  CHECK(corpus.target_tokens() == 6);
}

TEST_CASE("fixed steps cut ids and eos and pad the rest, as in the book") {
  EncodedCorpus corpus({.steps = 3});
  corpus.add({4, 5, 6, 7}, {8}, 1);
  corpus.add({4, 5, 6}, {8, 9}, 2);
  const Batch batch = corpus.make_batch(std::vector<std::size_t>{0, 1});
  CHECK(batch.source == Ids{4, 5, 6, 4, 5, 6});
  CHECK(batch.source_valid_lengths == Ids{3, 3});
  CHECK(batch.labels == Ids{8, 3, 1, 8, 9, 3});
  CHECK(batch.decoder_input == Ids{2, 8, 3, 2, 8, 9});
  CHECK(corpus.source().cropped_lines.first == std::vector<std::size_t>{1, 2});
  CHECK(corpus.target().cropped_lines.count == 0);
}

TEST_CASE("a sentence beyond the maximal length is cropped, keeps its eos and is counted") {
  EncodedCorpus corpus({.max_length = 3});
  corpus.add({4, 5, 6, 7}, {8, 9}, 12);
  CHECK(corpus.pair(0).source == Ids{4, 5, 3});
  CHECK(corpus.pair(0).target == Ids{8, 9, 3});
  CHECK(corpus.source().cropped_lines.first == std::vector<std::size_t>{12});
  CHECK(corpus.source().tokens == 4);
}

TEST_CASE("encoding counts unknown tokens of each side") {
  const std::vector<std::vector<std::string>> source = {{"a", "z"}};
  const std::vector<std::vector<std::string>> target = {{"b", "b", "y"}};
  const std::vector<std::size_t> lines = {9};
  const Vocabulary a = Vocabulary::from_tokens(source[0]);
  const Vocabulary b = Vocabulary::from_tokens(std::vector<std::string>{"b"});
  const EncodedCorpus corpus(source, target, lines, a, b);
  CHECK(corpus.pair(0).source == Ids{4, 5, 3});
  CHECK(corpus.pair(0).target == Ids{4, 4, 0, 3});
  CHECK(corpus.source().unknown == 0);
  CHECK(corpus.target().unknown == 1);
  CHECK(corpus.line(0) == 9);
}

TEST_CASE("every epoch has every sentence once, whatever the grouping") {
  const EncodedCorpus corpus = varied_corpus(103);
  const std::vector<BatchOptions> groupings = {
      {.batch_size = 8},
      {.batch_size = 8, .shuffle = false},
      {.batch_tokens = 60},
      {.batch_size = 8, .sort_by_length = true, .sort_window = 20},
      {.batch_tokens = 60, .sort_by_length = true, .sort_window = 20},
      {.batch_tokens = 60, .shuffle = false, .sort_by_length = true},
      {.batch_tokens = 60, .bucket_by_length = true},
      {.batch_size = 8, .shuffle = false, .bucket_by_length = true},
  };
  for (const BatchOptions& options : groupings) {
    CHECK(covers_each_once(all_indices(BatchSampler(corpus, options, 1).epoch(0)), 103));
  }
}

TEST_CASE("batches by sentences are full but for the last") {
  const EncodedCorpus corpus = varied_corpus(10);
  const BatchPlan plan = BatchSampler(corpus, {.batch_size = 4}, 1).epoch(0);
  REQUIRE(plan.size() == 3);
  CHECK(plan.batch(0).size == 4);
  CHECK(plan.batch(2).size == 2);
}

TEST_CASE("batches by tokens stay within the bound, padding counted") {
  const EncodedCorpus corpus = varied_corpus(200);
  const BatchPlan plan = BatchSampler(corpus, {.batch_tokens = 70}, 3).epoch(2);
  std::size_t with_several = 0;
  for (std::size_t k = 0; k < plan.size(); ++k) {
    const Batch batch = plan.batch(k);
    CHECK(batch.size * (batch.source_steps + batch.target_steps) <= 70);
    with_several += batch.size > 1 ? 1 : 0;
  }
  CHECK(with_several > plan.size() / 2);
  const BatchPlan tiny = BatchSampler(corpus, {.batch_tokens = 1}, 3).epoch(0);
  CHECK(tiny.size() == 200);
}

TEST_CASE("the order depends on seed and epoch alone") {
  const EncodedCorpus corpus = varied_corpus(50);
  const auto order = [&](std::uint64_t seed, std::uint64_t epoch) {
    return all_indices(BatchSampler(corpus, {.batch_size = 8}, seed).epoch(epoch));
  };
  CHECK(order(1, 5) == order(1, 5));
  CHECK(order(1, 5) != order(1, 6));
  CHECK(order(1, 5) != order(2, 5));
  CHECK(order(1, 2) != order(2, 1));
}

TEST_CASE("the order is the same on every machine") {
  SplitMix64 generator(1234567);
  CHECK(generator.next() == 6457827717110365317ULL);
  CHECK(generator.next() == 3203168211198807973ULL);
  const EncodedCorpus corpus = varied_corpus(8);
  const auto order = all_indices(BatchSampler(corpus, {.batch_size = 8}, 42).epoch(1));
  CHECK(order == std::vector<std::size_t>{1, 7, 6, 3, 2, 5, 4, 0});
}

TEST_CASE("training can go on in the middle of an epoch") {
  const EncodedCorpus corpus = varied_corpus(50);
  const BatchOptions options = {.batch_size = 8, .sort_by_length = true, .sort_window = 16};
  const BatchPlan plan = BatchSampler(corpus, options, 7).epoch(3);
  const BatchPlan resumed = BatchSampler(corpus, options, 7).epoch(3);
  for (std::size_t k = 3; k < plan.size(); ++k) {
    CHECK(resumed.batch(k).source == plan.batch(k).source);
    CHECK(resumed.batch(k).lines == plan.batch(k).lines);
  }
}

TEST_CASE("sorting by length needs less padding") {
  const EncodedCorpus corpus = varied_corpus(400);
  const auto positions = [&](bool sorted) {
    const BatchPlan plan = BatchSampler(corpus, {.batch_size = 8, .sort_by_length = sorted}, 1).epoch(0);
    std::int64_t sum = 0;
    for (std::size_t k = 0; k < plan.size(); ++k) sum += plan.batch(k).size * plan.batch(k).target_steps;
    return sum;
  };
  CHECK(positions(true) < positions(false) * 3 / 4);
  CHECK(positions(true) >= corpus.target_tokens());
}

TEST_CASE("buckets by both lengths need hardly any padding, and differ from epoch to epoch") {
  EncodedCorpus corpus;
  SplitMix64 generator(8);
  for (std::size_t i = 0; i < 6000; ++i) {
    const std::size_t target = 1 + generator.below(20) + generator.below(20);
    corpus.add(Ids(target + generator.below(8), 4), Ids(target, 4), i + 1);
  }
  const auto plan = [&](BatchOptions options, std::uint64_t epoch = 0) {
    return BatchSampler(corpus, options, 1).epoch(epoch);
  };
  const BatchOptions buckets{.batch_tokens = 1500, .bucket_by_length = true};
  CHECK(plan(buckets).padding() < 0.05);
  CHECK(plan(buckets).padding() < plan({.batch_tokens = 1500, .sort_by_length = true}).padding() * 2 / 3);
  CHECK(plan({.batch_tokens = 1500}).padding() > 0.3);
  const auto lines = [&](std::uint64_t epoch) {
    std::set<std::vector<std::size_t>> batches;
    const BatchPlan batch_plan = plan(buckets, epoch);
    for (std::size_t k = 0; k < batch_plan.size(); ++k) {
      auto found = batch_plan.batch(k).lines;
      std::sort(found.begin(), found.end());
      batches.insert(std::move(found));
    }
    return batches;
  };
  const auto first = lines(0), second = lines(1);
  std::size_t common = 0;
  for (const auto& batch : first) common += second.count(batch);
  CHECK(common < first.size() / 10);
  CHECK(lines(0) == first);
}

TEST_CASE("the padding of a plan is the share of its positions without a token") {
  EncodedCorpus corpus;
  corpus.add({4}, {5}, 1);           // 2 + 2
  corpus.add({4, 4, 4}, {5, 5}, 2);  // 4 + 3
  const BatchPlan together = BatchSampler(corpus, {.batch_size = 2, .shuffle = false}, 1).epoch(0);
  CHECK(together.positions(0) == 14);
  CHECK(together.padding() == Approx(3.0 / 14));
  CHECK(BatchSampler(corpus, {.batch_size = 1}, 1).epoch(0).padding() == 0.0);
}

TEST_CASE("impossible batch options and an empty corpus are refused") {
  const EncodedCorpus corpus = varied_corpus(3);
  const EncodedCorpus empty;
  const auto code = [](const EncodedCorpus& data, const BatchOptions& options) -> std::optional<ExitCode> {
    const auto error = error_of([&] { BatchSampler(data, options, 1); });
    if (error) return error->code();
    return std::nullopt;
  };
  CHECK(code(corpus, {}) == ExitCode::config);
  CHECK(code(corpus, {.batch_size = 1, .batch_tokens = 1}) == ExitCode::config);
  CHECK(code(corpus, {.batch_size = 0}) == ExitCode::config);
  CHECK(code(corpus, {.batch_tokens = 0}) == ExitCode::config);
  CHECK(code(corpus, {.batch_size = 1, .sort_window = 0}) == ExitCode::config);
  CHECK(code(empty, {.batch_size = 1}) == ExitCode::input_data);
  CHECK(code(corpus, {.batch_size = 1}) == std::nullopt);
  CHECK(error_of([] { EncodedCorpus({.steps = 3, .max_length = 3}); }));
  CHECK(error_of([] { EncodedCorpus({.steps = 0}); }));
  CHECK(error_of([] { EncodedCorpus({.max_length = 0}); }));
}
