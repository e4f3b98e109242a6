#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "attn/core/error.h"
#include "attn/runtime/random.h"
#include "attn/text/vocabulary.h"
#include "decoding/models.h"
#include "decoding/oracle.h"
#include "decoding/scripted_model.h"
#include "support/catch.h"
#include "support/error_of.h"

namespace {

using namespace attn;
using namespace attn::test;

constexpr std::int64_t vocabulary = 6;  // <unk>, two words and <eos> may be emitted
constexpr std::int64_t wide = 500;      // more than there are translations of 5 tokens

template<typename T>
T one_of(RandomSequence& random, std::initializer_list<T> values) {
  return *(values.begin() + random.below(values.size()));
}

// A search and a sentence, drawn at random.
struct Trial {
  SearchOptions options;
  Tokens source, prefix;
};

Trial random_trial(std::uint64_t seed, std::int64_t longest, bool coverage) {
  RandomSequence random(seed, "trial");
  Trial trial;
  SearchOptions& options = trial.options;
  options.beam = wide;
  options.max_length = 1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(longest)));
  options.length_penalty = one_of(random, {-2.0, -0.5, 0.0, 0.6, 1.0, 3.0});
  options.length_penalty_kind = one_of(random, {LengthPenalty::gnmt, LengthPenalty::power});
  if (coverage) options.coverage_penalty = one_of(random, {0.0, 0.2, 1.0, 5.0, -0.3, -2.0});
  options.min_length = std::min(one_of<std::int64_t>(random, {0, 0, 1, 2, 4}), options.max_length);
  options.no_repeat_ngram = one_of<std::int64_t>(random, {0, 0, 1, 2, 3});
  options.n_best = one_of<std::int64_t>(random, {1, 1, 2, 7, wide});
  const std::uint64_t source_tokens = random.below(5);
  for (std::uint64_t i = 0; i < source_tokens; ++i)
    trial.source.push_back(4 + static_cast<std::int32_t>(random.below(2)));
  trial.source.push_back(Vocabulary::eos);
  const std::uint64_t prefix_tokens =
      std::min(random.below(4), static_cast<std::uint64_t>(options.max_length));
  for (std::uint64_t i = 0; i + 1 < prefix_tokens; ++i)
    trial.prefix.push_back(one_of<std::int32_t>(random, {0, 4, 5}));
  return trial;
}

std::vector<Hypothesis> best_of(std::vector<Hypothesis> all, std::int64_t count) {
  all.resize(std::min(all.size(), static_cast<std::size_t>(count)));
  return all;
}

void require_exhaustive(const TranslationModel& model, const Trial& trial) {
  const auto all = all_hypotheses(model, trial.source, vocabulary, trial.options, trial.prefix);
  const auto found =
      beam_search(model, Sources({trial.source}).batch(), trial.options, std::vector<Tokens>{trial.prefix});
  REQUIRE(found.size() == 1);
  require_same_hypotheses(found.front(), best_of(all, trial.options.n_best));
}

void require_below_best(const TranslationModel& model, Trial trial) {
  const auto all = all_hypotheses(model, trial.source, vocabulary, trial.options, trial.prefix);
  for (const std::int64_t beam : {1, 2, 3, 5}) {
    INFO("beam " << beam);
    trial.options.beam = trial.options.n_best = beam;
    const auto found =
        beam_search(model, Sources({trial.source}).batch(), trial.options, std::vector<Tokens>{trial.prefix})
            .front();
    REQUIRE_FALSE(found.empty());
    REQUIRE(found.size() <= static_cast<std::size_t>(beam));
    std::set<Tokens> different;
    for (std::size_t k = 0; k < found.size(); ++k) {
      const Hypothesis& hypothesis = found[k];
      CHECK(different.insert(hypothesis.tokens).second);
      if (k > 0 && found[k - 1].finished == hypothesis.finished)
        CHECK(found[k - 1].score >= hypothesis.score);
      if (k > 0) CHECK(found[k - 1].finished >= hypothesis.finished);
      const auto same = std::find_if(all.begin(), all.end(), [&](const Hypothesis& other) {
        return other.tokens == hypothesis.tokens && other.finished == hypothesis.finished;
      });
      REQUIRE(same != all.end());
      CHECK(std::abs(same->score - hypothesis.score) < 1e-9);
      if (hypothesis.finished == all.front().finished) CHECK(hypothesis.score <= all.front().score + 1e-9);
    }
  }
}

}  // namespace

TEST_CASE("a beam as wide as the tree equals exhaustive search for arbitrary distributions") {
  const auto device = Device::open("reference");
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    INFO("seed " << seed);
    const ScriptedModel model(device, vocabulary, seed, seed % 3 == 0 ? 0.5 : 2.0);
    require_exhaustive(model, random_trial(seed, 5, true));
  }
}

TEST_CASE("a beam as wide as the tree equals exhaustive search for every model") {
  for (const auto& device : decoding_devices()) {
    for (const ModelConfig& config : small_configs()) {
      for (std::uint64_t seed = 0; seed < 5; ++seed) {
        INFO(attn::test::name_of(config) << " on " << device->backend().name() << ", seed " << seed);
        const auto model = make_small_model(config, device, vocabulary, seed);
        require_exhaustive(*model, random_trial(1000 + seed, 4, config.type != ModelConfig::Type::seq2seq));
      }
    }
  }
}

TEST_CASE("narrow beams find distinct translations by falling score, none better than the best of all") {
  const auto device = Device::open("reference");
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    INFO("seed " << seed);
    const ScriptedModel model(device, vocabulary, seed, 1.0);
    require_below_best(model, random_trial(seed, 5, true));
  }
}

TEST_CASE("greedy search takes the best token that the constraints allow") {
  const auto device = Device::open("reference");
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    INFO("seed " << seed);
    const ScriptedModel model(device, 8, seed);
    Trial trial = random_trial(seed, 12, true);
    const Hypothesis found = greedy_search(model, Sources({trial.source}).batch(), trial.options,
                                           std::vector<Tokens>{trial.prefix})
                                 .front();
    const Hypothesis expected = plain_greedy(model, trial.source, trial.options, trial.prefix);
    CHECK(found.tokens == expected.tokens);
    CHECK(found.finished == expected.finished);
    CHECK(std::abs(found.log_probability - expected.log_probability) < 1e-9);
    trial.options.beam = trial.options.n_best = 1;
    require_same_hypotheses(
        beam_search(model, Sources({trial.source}).batch(), trial.options, std::vector<Tokens>{trial.prefix})
            .front(),
        {found});
  }
}

TEST_CASE("constraints, prefixes and coverage do not make a sentence depend on its batch") {
  const auto device = Device::open("reference");
  for (const ModelConfig& config : small_configs()) {
    const bool attends = config.type != ModelConfig::Type::seq2seq;
    INFO(attn::test::name_of(config));
    const auto model = make_small_model(config, device);
    const auto sentences = some_sentences(6);
    const std::vector<Tokens> prefixes = {{4, 5}, {}, {8}, {7, 7, 7}, {}, {0}};
    const std::vector<std::uint64_t> numbers = {3, 4, 5, 6, 7, 8};
    SearchOptions beam;
    beam.beam = beam.n_best = 3;
    beam.min_length = 4;
    beam.no_repeat_ngram = 2;
    beam.max_length_ratio = 1.5;
    if (attends) beam.coverage_penalty = 0.4;
    SearchOptions greedy = beam, sampled = beam;
    greedy.beam = greedy.n_best = 1;
    sampled.sampling = Sampling{1.5, 6, 9, 0.9};
    for (const SearchOptions& options : {greedy, beam, sampled}) {
      const auto together = search(*model, Sources(sentences).batch(), options, numbers, prefixes);
      for (std::size_t i = 0; i < sentences.size(); ++i) {
        INFO("sentence " << i);
        const auto alone = search(*model, Sources({sentences[i]}).batch(), options,
                                  std::span(numbers).subspan(i, 1), std::span(prefixes).subspan(i, 1));
        require_same_hypotheses(together[i], alone.front());
        for (const Hypothesis& hypothesis : alone.front()) {
          REQUIRE(hypothesis.tokens.size() >= prefixes[i].size());
          CHECK(std::equal(prefixes[i].begin(), prefixes[i].end(), hypothesis.tokens.begin()));
        }
      }
    }
  }
}

TEST_CASE("where every other token would repeat, a translation may end before its shortest length") {
  const auto device = Device::open("reference");
  const ScriptedModel model(device, vocabulary, 5);
  SearchOptions options;
  options.no_repeat_ngram = 1;
  options.min_length = options.max_length = 9;
  const Sources source({{4, 3}});
  for (const std::int64_t beam : {1, 4}) {
    options.beam = beam;
    const Hypothesis best = search(model, source.batch(), options).front().front();
    CHECK(best.tokens.size() == 3);
    CHECK(best.finished);
    CHECK(std::set<std::int32_t>(best.tokens.begin(), best.tokens.end()).size() == 3);
  }
}

TEST_CASE("lengths are limited by a ratio to the source, by a number, and by the positions of the model") {
  SearchOptions options;
  CHECK(step_limit(options, 4) == 18);
  options.max_length_ratio = 1.5;
  CHECK(step_limit(options, 5) == 17);
  options.max_length = 6;
  CHECK(step_limit(options, 5) == 6);
  options.max_length = 60;
  CHECK(step_limit(options, 5) == 17);
  options.min_length = 40;
  CHECK(step_limit(options, 5) == 40);
  options.position_limit = 30;
  CHECK(step_limit(options, 5) == 30);
  options = {};
  options.max_length_ratio = 1e300;
  CHECK(step_limit(options, 1000) > 1000000);
  options.max_length_ratio = 0.0;
  CHECK(step_limit(options, 1000) == 10);
}

TEST_CASE("coverage is the logarithm of the attention that source tokens lack") {
  CHECK(log_coverage(std::vector<double>{1.0, 3.0, 1.2}) == 0.0);
  CHECK(std::abs(log_coverage(std::vector<double>{0.5, 2.0, 0.25}) - std::log(0.125)) < 1e-12);
  const double none = log_coverage(std::vector<double>{0.0});
  CHECK(std::isfinite(none));
  CHECK(none < -80.0);
}

TEST_CASE("length penalties divide by their formulas") {
  CHECK(std::abs(length_normalisation(7, 0.5) - std::sqrt(2.0)) < 1e-12);
  CHECK(length_normalisation(7, 1.0, LengthPenalty::power) == 7.0);
  CHECK(length_normalisation(4, -0.5, LengthPenalty::power) == 0.5);
  CHECK(length_normalisation(7, 0.0, LengthPenalty::power) == 1.0);
}

TEST_CASE("constraints that cannot be are usage errors") {
  const auto message_of = [](const std::function<void(SearchOptions&)>& change) {
    SearchOptions options;
    change(options);
    const auto error = error_of([&] { check(options); });
    REQUIRE(error);
    CHECK(error->code() == ExitCode::usage);
    return std::string(error->what());
  };
  CHECK(contains(message_of([](SearchOptions& o) { o.min_length = -1; }), "-1"));
  CHECK(contains(message_of([](SearchOptions& o) { o.min_length = 8, o.max_length = 5; }), "at least 8"));
  CHECK(contains(message_of([](SearchOptions& o) { o.no_repeat_ngram = -2; }), "-2"));
  CHECK(contains(message_of([](SearchOptions& o) { o.max_length_ratio = -0.5; }), "-0.5"));
  CHECK(contains(message_of([](SearchOptions& o) { o.max_length_ratio = std::nan(""); }), "nan"));
  CHECK(contains(message_of([](SearchOptions& o) { o.coverage_penalty = std::nan(""); }), "coverage"));
  CHECK(contains(message_of([](SearchOptions& o) { o.sampling = Sampling{1.0, 0, 0, 0.0}; }), "top-p is 0"));
  CHECK(contains(message_of([](SearchOptions& o) {
                   o.sampling = Sampling{1.0, 0, 0, 1.5};
                 }),
                 "top-p is 1.5"));
  CHECK(contains(message_of([](SearchOptions& o) { o.beam = 3, o.n_best = 5; }), "5 best"));
}

TEST_CASE("a coverage penalty needs a model that attends to its source") {
  const auto model = make_small_model(small_configs()[0], Device::open("reference"));
  SearchOptions options;
  options.coverage_penalty = 0.2;
  for (const std::int64_t beam : {1, 2}) {
    options.beam = beam;
    const auto error = error_of([&] { search(*model, Sources({{4, 3}}).batch(), options); });
    REQUIRE(error);
    CHECK(error->code() == ExitCode::usage);
    CHECK(contains(error->what(), "no attention"));
  }
}

TEST_CASE("a prefix longer than its translation may be is an error with both lengths") {
  const ScriptedModel model(Device::open("reference"), vocabulary, 1);
  SearchOptions options;
  options.max_length = 2;
  const std::vector<Tokens> fitting = {{4, 5}}, longer = {{4, 5, 4}};
  const Sources source({{4, 3}});
  const auto found = search(model, source.batch(), options, {}, fitting).front().front();
  CHECK(found.tokens == fitting.front());
  CHECK_FALSE(found.finished);
  const auto error = error_of([&] { search(model, source.batch(), options, {}, longer); });
  REQUIRE(error);
  CHECK(error->code() == ExitCode::usage);
  CHECK(contains(error->what(), "3 tokens"));
  CHECK(contains(error->what(), "2 tokens"));
}
