#include <array>
#include <cmath>

#include "attn/core/error.h"
#include "attn/decoding/alignment.h"
#include "attn/decoding/ensemble.h"
#include "attn/decoding/forced.h"
#include "attn/decoding/search.h"
#include "attn/text/vocabulary.h"
#include "decoding/models.h"
#include "decoding/oracle.h"
#include "support/catch.h"
#include "support/error_of.h"

namespace {

using namespace attn;
using namespace attn::test;

using Models = std::vector<std::unique_ptr<TranslationModel>>;

Models models_of(std::initializer_list<std::size_t> configs, const std::shared_ptr<Device>& device) {
  Models models;
  std::uint64_t seed = 3;
  for (const std::size_t config : configs)
    models.push_back(make_small_model(small_configs()[config], device, 9, seed++));
  return models;
}

Models same_twice(std::size_t config, const std::shared_ptr<Device>& device) {
  Models models;
  for (int i = 0; i < 2; ++i) models.push_back(make_small_model(small_configs()[config], device));
  return models;
}

std::vector<double> probabilities(const TranslationModel& model, const Sources& source,
                                  const std::vector<std::int32_t>& tokens) {
  Context context;
  const auto state = model.encode(source.batch(), 10, context);
  std::vector<double> values;
  for (const std::int32_t token : tokens)
    values = model.step(*state, std::span<const std::int32_t>(&token, 1), context).to_vector<double>();
  double sum = 0.0;
  for (double& value : values) sum += value = std::exp(value);
  for (double& value : values) value /= sum;
  return values;
}

}  // namespace

TEST_CASE("an ensemble of a model with itself is that model") {
  for (const auto& device : decoding_devices()) {
    for (std::size_t config = 0; config < small_configs().size(); ++config) {
      INFO(attn::test::name_of(small_configs()[config]) << " on " << device->backend().name());
      const auto model = make_small_model(small_configs()[config], device);
      const Sources sources(some_sentences(6));
      SearchOptions greedy, beam, sampled;
      beam.beam = beam.n_best = 4;
      if (config != 0) beam.coverage_penalty = 0.3;
      sampled.sampling = Sampling{1.2, 4, 8, 0.9};
      for (const auto average : {EnsembleAverage::probabilities, EnsembleAverage::log_probabilities}) {
        const EnsembleModel ensemble(same_twice(config, device), average);
        for (const SearchOptions& options : {greedy, beam, sampled}) {
          const auto expected = search(*model, sources.batch(), options);
          const auto found = search(ensemble, sources.batch(), options);
          for (std::size_t i = 0; i < expected.size(); ++i) require_same_hypotheses(found[i], expected[i]);
        }
      }
    }
  }
}

TEST_CASE("an ensemble takes the mean of its members' distributions") {
  const auto device = Device::open("reference");
  const Sources source({{4, 5, 6, 3}});
  const Models members = models_of({2, 1, 0}, device);
  const EnsembleModel linear(models_of({2, 1, 0}, device), EnsembleAverage::probabilities);
  const EnsembleModel geometric(models_of({2, 1, 0}, device), EnsembleAverage::log_probabilities);
  std::vector<double> labels_linear, labels_geometric;
  const std::vector<std::int32_t> tokens = {Vocabulary::bos, 5, 8, 4};
  for (std::size_t steps = 1; steps <= tokens.size(); ++steps) {
    const std::vector<std::int32_t> input(tokens.begin(),
                                          tokens.begin() + static_cast<std::ptrdiff_t>(steps));
    std::vector<double> mean(9, 0.0), product(9, 1.0);
    double product_sum = 0.0;
    for (const auto& member : members) {
      const auto own = probabilities(*member, source, input);
      for (std::size_t v = 0; v < 9; ++v) {
        mean[v] += own[v] / 3.0;
        product[v] *= std::cbrt(own[v]);
      }
    }
    for (const double value : product) product_sum += value;
    const auto found = probabilities(linear, source, input);
    const auto found_geometric = probabilities(geometric, source, input);
    for (std::size_t v = 0; v < 9; ++v) {
      CHECK(std::abs(found[v] - mean[v]) < 1e-12);
      CHECK(std::abs(found_geometric[v] - product[v] / product_sum) < 1e-12);
    }
    const auto label = static_cast<std::size_t>(steps < tokens.size() ? tokens[steps] : Vocabulary::eos);
    labels_linear.push_back(std::log(mean[label]));
    labels_geometric.push_back(std::log(product[label] / product_sum));
  }
  // Forced scoring reads the same distributions, though the members order their logits differently.
  const std::vector<Tokens> targets = {{5, 8, 4, Vocabulary::eos}};
  const ForcedScore forced = forced_scores(linear, source.batch(), targets).front();
  const ForcedScore forced_geometric = forced_scores(geometric, source.batch(), targets).front();
  for (std::size_t t = 0; t < 4; ++t) {
    CHECK(std::abs(forced.token_log_probabilities[t] - labels_linear[t]) < 1e-9);
    CHECK(std::abs(forced_geometric.token_log_probabilities[t] - labels_geometric[t]) < 1e-9);
  }
}

TEST_CASE("a wide beam of an ensemble equals exhaustive search over it") {
  const auto device = Device::open("reference");
  Models members;
  members.push_back(make_small_model(small_configs()[2], device, 6, 1));
  members.push_back(make_small_model(small_configs()[1], device, 6, 2));
  const EnsembleModel ensemble(std::move(members), EnsembleAverage::probabilities);
  SearchOptions options;
  options.beam = 100;
  options.max_length = 3;
  for (const double coverage_penalty : {0.0, 0.5}) {
    options.coverage_penalty = coverage_penalty;
    for (const std::int64_t n_best : {1, 40}) {
      options.n_best = n_best;
      for (const Tokens& source : some_sentences(3, 6)) {
        auto all = all_hypotheses(ensemble, source, 6, options);
        all.resize(static_cast<std::size_t>(n_best));
        require_same_hypotheses(beam_search(ensemble, Sources({source}).batch(), options).front(), all);
      }
    }
  }
}

TEST_CASE("an ensemble does not lose tokens that all its members think improbable") {
  const auto device = Device::open("reference");
  Models members;
  for (std::uint64_t seed = 0; seed < 2; ++seed) {
    members.push_back(make_small_model(small_configs()[2], device, 9, seed, DType::f32));
    favour(*members.back(), 5, -500.0);
  }
  const EnsembleModel ensemble(std::move(members), EnsembleAverage::probabilities);
  const std::vector<Tokens> targets = {{5, Vocabulary::eos}};
  const auto forced = forced_scores(ensemble, Sources({{4, 3}}).batch(), targets).front();
  CHECK(std::isfinite(forced.log_probability));
  CHECK(forced.log_probability < -400.0);
}

TEST_CASE("models of different text processing are told apart by what differs") {
  const auto with_tokens = [](std::vector<std::string> source, std::vector<std::string> target) {
    TextProcessing text;
    text.source_vocabulary = Vocabulary::from_tokens(source);
    text.target_vocabulary = Vocabulary::from_tokens(target);
    return text;
  };
  const TextProcessing text = with_tokens({"a", "b"}, {"x", "y"});
  CHECK_FALSE(text_difference(text, with_tokens({"a", "b"}, {"x", "y"})));
  const auto difference = [&](const TextProcessing& other) { return text_difference(text, other).value(); };
  CHECK(difference(with_tokens({"a", "c"}, {"x", "y"})) ==
        "the source vocabularies differ: entry 5 is 'b' in one and 'c' in the other");
  CHECK(difference(with_tokens({"a", "b"}, {"x", "y", "z"})) ==
        "the target vocabularies differ: 6 and 7 entries");
  TextProcessing other = text;
  other.target_tokenizer = Tokenizer::named("character");
  CHECK(difference(other) == "the target tokenizers differ: word and character");
  other = text;
  other.steps = 9;
  CHECK(contains(difference(other), "none and 9"));
}

TEST_CASE("an ensemble has the positions of the member with the fewest") {
  std::vector<ModelConfig> configs = {small_configs()[1], small_configs()[3], small_configs()[3]};
  configs[1].max_length = 50;
  configs[2].max_length = 20;
  const ModelConfig config = ensemble_config(configs);
  CHECK(config.type == ModelConfig::Type::transformer);
  CHECK(config.positions == PositionKind::learned);
  CHECK(config.max_length == 20);
  CHECK_FALSE(config.encode_padding);
  configs[0].encode_padding = true;
  CHECK(ensemble_config(configs).encode_padding);
  const auto error = error_of([] { EnsembleModel({}, EnsembleAverage::probabilities); });
  REQUIRE(error);
}
