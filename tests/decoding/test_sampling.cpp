#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "attn/text/vocabulary.h"
#include "decoding/models.h"
#include "decoding/oracle.h"
#include "decoding/scripted_model.h"
#include "support/catch.h"

namespace {

using namespace attn;
using namespace attn::test;

constexpr std::int64_t vocabulary = 7;
const Tokens source = {4, 6, 3};

// The probability of every translation (<eos> kept) that can be drawn.
std::map<Tokens, double> distribution(const ScriptedModel& model, const SearchOptions& options,
                                      const Tokens& prefix) {
  std::map<Tokens, double> all;
  const std::function<void(const Tokens&, double)> extend = [&](const Tokens& tokens, double probability) {
    Tokens input = {Vocabulary::bos};
    input.insert(input.end(), tokens.begin(), tokens.end());
    for (const Chance& chance : chances(model.logits(source, input), tokens, prefix, options)) {
      Tokens longer = tokens;
      longer.push_back(chance.token);
      if (chance.token == Vocabulary::eos || static_cast<std::int64_t>(longer.size()) == options.max_length) {
        all[longer] += probability * chance.probability;
      } else {
        extend(longer, probability * chance.probability);
      }
    }
  };
  extend({}, 1.0);
  return all;
}

// Pearson's statistic over the translations that are expected five times or more, the others together.
struct ChiSquare {
  double statistic = 0.0, degrees_of_freedom = -1.0;
  void add(double observed, double expected) {
    if (expected <= 0.0) return;
    statistic += (observed - expected) * (observed - expected) / expected;
    degrees_of_freedom += 1.0;
  }
  // About 4 standard deviations above the mean (Wilson and Hilferty, 1931).
  double limit() const {
    const double ninth = 2.0 / (9.0 * std::max(degrees_of_freedom, 1.0));
    return std::max(degrees_of_freedom, 1.0) * std::pow(1.0 - ninth + 4.0 * std::sqrt(ninth), 3.0);
  }
};

void require_distribution(const ScriptedModel& model, SearchOptions options, const Tokens& prefix = {}) {
  constexpr std::int64_t draws = 3000;
  options.n_best = draws;
  const auto expected = distribution(model, options, prefix);
  std::map<Tokens, double> counts;
  const auto drawn =
      sample_search(model, Sources({source}).batch(), options, {}, std::vector<Tokens>{prefix}).front();
  REQUIRE(drawn.size() == draws);
  for (const Hypothesis& hypothesis : drawn) {
    Tokens labels = hypothesis.tokens;
    if (hypothesis.finished) labels.push_back(Vocabulary::eos);
    REQUIRE(expected.count(labels) == 1);
    counts[labels] += 1.0;
  }
  ChiSquare chi_square;
  double rare_observed = 0.0, rare_expected = 0.0;
  for (const auto& [labels, probability] : expected) {
    const double times = probability * static_cast<double>(draws);
    if (times >= 5.0) {
      chi_square.add(counts[labels], times);
    } else {
      rare_observed += counts[labels];
      rare_expected += times;
    }
  }
  chi_square.add(rare_observed, rare_expected);
  INFO("chi-square " << chi_square.statistic << " at " << chi_square.degrees_of_freedom
                     << " degrees of freedom");
  CHECK(chi_square.statistic < chi_square.limit());
}

}  // namespace

TEST_CASE("translations are drawn as often as temperature, top-k and top-p say, and no others are") {
  const auto device = Device::open("reference");
  std::uint64_t seed = 1;
  for (const double temperature : {0.5, 1.0, 2.0}) {
    for (const std::int64_t top_k : {0, 1, 3}) {
      for (const double top_p : {1.0, 0.9, 0.5, 1e-6}) {
        INFO("temperature " << temperature << ", top-k " << top_k << ", top-p " << top_p);
        const ScriptedModel model(device, vocabulary, seed, 1.0);
        SearchOptions options;
        options.max_length = 3;
        options.sampling = Sampling{temperature, top_k, seed++, top_p};
        require_distribution(model, options);
      }
    }
  }
}

TEST_CASE("constraints hold in sampling, and what they leave keeps its proportions") {
  const auto device = Device::open("reference");
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    INFO("seed " << seed);
    const ScriptedModel model(device, vocabulary, seed, 1.0);
    SearchOptions options;
    options.max_length = 4;
    options.min_length = static_cast<std::int64_t>(seed % 4);
    options.no_repeat_ngram = static_cast<std::int64_t>(seed % 3);
    options.sampling = Sampling{1.3, seed % 2 == 0 ? 0 : 2, seed, seed % 4 < 2 ? 1.0 : 0.8};
    require_distribution(model, options, seed % 2 == 0 ? Tokens{} : Tokens{5, 5});
  }
}

TEST_CASE("a very small top-p draws what greedy search takes") {
  const auto device = Device::open("reference");
  const auto model = make_small_model(small_configs()[2], device);
  const Sources sources(some_sentences(5));
  SearchOptions options;
  const auto greedy = greedy_search(*model, sources.batch(), options);
  options.sampling = Sampling{1.0, 0, 4, 1e-9};
  const auto drawn = sample_search(*model, sources.batch(), options);
  for (std::size_t i = 0; i < greedy.size(); ++i) CHECK(drawn[i].front().tokens == greedy[i].tokens);
}
