#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>

#include "attn/decoding/forced.h"
#include "attn/decoding/search.h"
#include "attn/ops/ops.h"
#include "attn/text/vocabulary.h"
#include "decoding/models.h"
#include "support/catch.h"
#include "support/error_of.h"

namespace {

using namespace attn;
using namespace attn::test;

using Results = std::vector<std::vector<Hypothesis>>;

// Runs `check` for every model on every device.
void for_every_model(const std::function<void(const ModelConfig&, const std::shared_ptr<Device>&)>& check) {
  for (const auto& device : decoding_devices()) {
    for (const ModelConfig& config : small_configs()) {
      INFO(attn::test::name_of(config) << " on " << device->backend().name());
      check(config, device);
    }
  }
}

void require_same(const Results& found, const Results& expected, double tolerance = 1e-9) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    INFO("sentence " << i);
    REQUIRE(found[i].size() == expected[i].size());
    for (std::size_t k = 0; k < found[i].size(); ++k) {
      CHECK(found[i][k].tokens == expected[i][k].tokens);
      CHECK(found[i][k].finished == expected[i][k].finished);
      CHECK(std::abs(found[i][k].log_probability - expected[i][k].log_probability) < tolerance);
      CHECK(std::abs(found[i][k].score - expected[i][k].score) < tolerance);
    }
  }
}

// The results of the sentences in batches of `size`.
Results in_batches(const TranslationModel& model, const std::vector<std::vector<std::int32_t>>& sentences,
                   const SearchOptions& options, std::size_t size) {
  Results results;
  for (std::size_t begin = 0; begin < sentences.size(); begin += size) {
    const std::size_t end = std::min(begin + size, sentences.size());
    const Sources sources({sentences.begin() + static_cast<std::ptrdiff_t>(begin),
                           sentences.begin() + static_cast<std::ptrdiff_t>(end)});
    std::vector<std::uint64_t> indices;
    for (std::size_t i = begin; i < end; ++i) indices.push_back(i);
    for (auto& result : search(model, sources.batch(), options, indices))
      results.push_back(std::move(result));
  }
  return results;
}

// Every token sequence that a search may yield for one source, scored by teacher forcing.
std::vector<Hypothesis> all_hypotheses(const TranslationModel& model, const std::vector<std::int32_t>& source,
                                       std::int64_t vocabulary, const SearchOptions& options) {
  std::vector<Hypothesis> all;
  const std::function<void(std::vector<std::int32_t>)> extend = [&](std::vector<std::int32_t> prefix) {
    for (std::int32_t token = 0; token < vocabulary; ++token) {
      if (token == Vocabulary::pad || token == Vocabulary::bos) continue;
      std::vector<std::int32_t> labels = prefix;
      labels.push_back(token);
      const bool finished = token == Vocabulary::eos;
      const auto length = static_cast<std::int64_t>(labels.size());
      if (finished || length == options.max_length) {
        const double log_probability =
            forced_scores(model, Sources({source}).batch(), std::array{labels}).front().log_probability;
        all.push_back({finished ? prefix : labels, log_probability,
                       log_probability / length_normalisation(length, options.length_penalty), finished});
      } else {
        extend(labels);
      }
    }
  };
  extend({});
  std::stable_sort(all.begin(), all.end(), [](const Hypothesis& a, const Hypothesis& b) {
    if (a.finished != b.finished) return a.finished;
    return a.score > b.score;
  });
  return all;
}

}  // namespace

TEST_CASE("a beam of one gives what greedy search gives") {
  std::set<std::vector<std::int32_t>> different;
  for_every_model([&](const ModelConfig& config, const std::shared_ptr<Device>& device) {
    const auto model = make_small_model(config, device);
    const Sources sources(some_sentences(9));
    const SearchOptions options;
    Results greedy;
    for (const Hypothesis& hypothesis : greedy_search(*model, sources.batch(), options)) {
      greedy.emplace_back();
      greedy.back().push_back(hypothesis);
    }
    require_same(beam_search(*model, sources.batch(), options), greedy);
    require_same(search(*model, sources.batch(), options), greedy);
    for (const auto& result : greedy) different.insert(result.front().tokens);
  });
  CHECK(different.size() > 8);
}

TEST_CASE("a beam as wide as the tree finds the best of all translations") {
  constexpr std::int64_t vocabulary = 6;
  for_every_model([](const ModelConfig& config, const std::shared_ptr<Device>& device) {
    const auto model = make_small_model(config, device, vocabulary);
    const std::vector<std::vector<std::int32_t>> sentences = some_sentences(4, vocabulary);
    SearchOptions options;
    options.beam = 100;
    options.n_best = 40;  // 1 + 3 + 9 finished ones, and 27 that are cut at the third token
    options.max_length = 3;
    for (const double length_penalty : {0.0, 0.6, 2.0}) {
      INFO("length penalty " << length_penalty);
      options.length_penalty = length_penalty;
      const Results found = beam_search(*model, Sources(sentences).batch(), options);
      for (std::size_t i = 0; i < sentences.size(); ++i) {
        const auto all = all_hypotheses(*model, sentences[i], vocabulary, options);
        REQUIRE(all.size() == 40);
        require_same({found[i]}, {all});
      }
      options.n_best = 1;  // stops early, and must find the same best
      const Results best = beam_search(*model, Sources(sentences).batch(), options);
      for (std::size_t i = 0; i < sentences.size(); ++i)
        require_same({best[i]}, {{all_hypotheses(*model, sentences[i], vocabulary, options).front()}});
      options.n_best = 40;
    }
  });
}

TEST_CASE("decoding step by step gives the logits of teacher forcing") {
  for_every_model([](const ModelConfig& config, const std::shared_ptr<Device>& device) {
    const auto model = make_small_model(config, device);
    const Sources sources(some_sentences(5));
    const std::vector<std::vector<std::int32_t>> targets(5, {4, 8, 0, 5, 5, 7});
    const DecoderInput input = make_decoder_input(targets);
    Context context;
    const auto logits = model->forward(sources.batch(), input.batch(), context);
    const std::vector<double> forced = logits.values.to_vector<double>();
    const auto state = model->encode(sources.batch(), input.steps + 3, context);
    for (std::int64_t t = 0; t < input.steps; ++t) {
      std::vector<std::int32_t> tokens;
      for (std::int64_t b = 0; b < input.size; ++b)
        tokens.push_back(input.ids[static_cast<std::size_t>(b * input.steps + t)]);
      const std::vector<double> step = model->step(*state, tokens, context).to_vector<double>();
      for (std::int64_t b = 0; b < input.size; ++b) {
        const std::int64_t row =
            logits.order == TokenOrder::batch_major ? b * input.steps + t : t * input.size + b;
        for (std::int64_t v = 0; v < 9; ++v) {
          const double difference =
              step[static_cast<std::size_t>(b * 9 + v)] - forced[static_cast<std::size_t>(row * 9 + v)];
          REQUIRE(std::abs(difference) < 1e-9);
        }
      }
    }
    CHECK(state->position() == input.steps);
  });
}

TEST_CASE("results do not depend on the batch") {
  for_every_model([](const ModelConfig& config, const std::shared_ptr<Device>& device) {
    const auto model = make_small_model(config, device);
    const auto sentences = some_sentences(7);
    SearchOptions greedy, beam, sampled;
    beam.beam = 4;
    beam.n_best = 3;
    sampled.sampling = Sampling{1.5, 5, 42};
    sampled.n_best = 2;
    for (const SearchOptions& options : {greedy, beam, sampled}) {
      const Results alone = in_batches(*model, sentences, options, 1);
      for (const std::size_t size : {2, 3, 7}) {
        INFO("batches of " << size);
        require_same(in_batches(*model, sentences, options, size), alone);
      }
    }
  });
}

TEST_CASE("the log-probability of a hypothesis is that of teacher forcing") {
  for_every_model([](const ModelConfig& config, const std::shared_ptr<Device>& device) {
    const auto model = make_small_model(config, device);
    const Sources sources(some_sentences(6));
    SearchOptions greedy, beam, sampled;
    beam.beam = beam.n_best = 3;
    sampled.sampling = Sampling{0.7, 0, 1};
    for (const SearchOptions& options : {greedy, beam, sampled}) {
      const Results results = search(*model, sources.batch(), options);
      for (std::size_t i = 0; i < results.size(); ++i) {
        for (const Hypothesis& hypothesis : results[i]) {
          std::vector<std::int32_t> labels = hypothesis.tokens;
          if (hypothesis.finished) labels.push_back(Vocabulary::eos);
          const ForcedScore forced =
              forced_scores(*model, Sources({sources.rows[i]}).batch(), std::array{labels}).front();
          CHECK(std::abs(forced.log_probability - hypothesis.log_probability) < 1e-9);
          const double length = static_cast<double>(labels.size());
          CHECK(std::abs(hypothesis.score * std::pow((5.0 + length) / 6.0, 0.6) -
                         hypothesis.log_probability) < 1e-9);
        }
      }
    }
  });
}

TEST_CASE("a finished sentence leaves the batch") {
  for (const auto& device : decoding_devices()) {
    const auto model = make_small_model(small_configs().back(), device);
    const auto sentences = some_sentences(8);
    SearchOptions options;
    options.max_length = 30;
    // Rows of all steps, seen by the width of the output layer's input.
    const auto rows_decoded = [&](const std::function<void()>& action) {
      std::int64_t rows = 0;
      device->set_observer([&](const attn_op& op, const char*) {
        if (op.kind == ATTN_OP_TOP_K) rows += op.tensors[0].dims[0];
      });
      action();
      device->set_observer({});
      return rows;
    };
    std::int64_t steps = 0, longest = 0;
    std::vector<Hypothesis> found;
    const std::int64_t rows =
        rows_decoded([&] { found = greedy_search(*model, Sources(sentences).batch(), options); });
    for (const Hypothesis& hypothesis : found) {
      const auto taken = static_cast<std::int64_t>(hypothesis.tokens.size()) + (hypothesis.finished ? 1 : 0);
      steps += taken;
      longest = std::max(longest, taken);
    }
    CHECK(rows == steps);
    CHECK(rows < longest * static_cast<std::int64_t>(sentences.size()));
  }
}

TEST_CASE("select_rows repeats, reorders and leaves out sentences") {
  for_every_model([](const ModelConfig& config, const std::shared_ptr<Device>& device) {
    const auto model = make_small_model(config, device);
    const Sources sources(some_sentences(4));
    Context context;
    const std::vector<std::int32_t> chosen = {2, 2, 0, 3, 2};
    const std::vector<std::int32_t> first = {2, 2, 2, 2}, second = {5, 6, 7, 8};
    const auto plain = model->encode(sources.batch(), 3, context);
    const auto selected = model->encode(sources.batch(), 3, context);
    model->step(*plain, first, context);
    model->step(*selected, first, context);
    selected->select_rows(chosen);
    std::vector<std::int32_t> second_chosen;
    for (const std::int32_t row : chosen) second_chosen.push_back(second[static_cast<std::size_t>(row)]);
    const auto expected = model->step(*plain, second, context).to_vector<double>();
    const auto found = model->step(*selected, second_chosen, context).to_vector<double>();
    REQUIRE(found.size() == chosen.size() * 9);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const std::size_t row = static_cast<std::size_t>(chosen[i / 9]);
      REQUIRE(std::abs(found[i] - expected[row * 9 + i % 9]) < 1e-12);
    }
  });
}

TEST_CASE("a larger length penalty never shortens the best translation") {
  const auto device = Device::open("reference");
  const auto model = make_small_model(small_configs()[2], device);
  const Sources sources(some_sentences(8));
  SearchOptions options;
  options.beam = 60;
  options.max_length = 3;
  std::vector<std::size_t> lengths(sources.rows.size(), 0);
  std::size_t grown = 0;
  for (const double length_penalty : {-2.0, 0.0, 1.0, 4.0, 16.0}) {
    options.length_penalty = length_penalty;
    const Results results = beam_search(*model, sources.batch(), options);
    for (std::size_t i = 0; i < results.size(); ++i) {
      const std::size_t length = results[i].front().tokens.size();
      CHECK(length >= lengths[i]);
      if (length_penalty > -2.0 && length > lengths[i]) ++grown;
      lengths[i] = length;
    }
  }
  CHECK(grown > 0);
}

TEST_CASE("padding and the start symbol are never emitted, however probable") {
  for_every_model([](const ModelConfig& config, const std::shared_ptr<Device>& device) {
    const auto model = make_small_model(config, device);
    favour(*model, Vocabulary::pad, 50.0);
    favour(*model, Vocabulary::bos, 40.0);
    SearchOptions greedy, beam, sampled, sampled_top;
    beam.beam = 3;
    sampled.sampling = Sampling{};
    sampled_top.sampling = Sampling{1.0, 1, 0};
    for (const SearchOptions& options : {greedy, beam, sampled, sampled_top}) {
      for (const auto& result : search(*model, Sources(some_sentences(5)).batch(), options)) {
        for (const std::int32_t token : result.front().tokens) {
          CHECK(token != Vocabulary::pad);
          CHECK(token != Vocabulary::bos);
        }
        CHECK(result.front().log_probability < -30.0);  // of all tokens, not of those that may be emitted
      }
    }
  });
}

TEST_CASE("a translation ends at its longest length, which follows the source") {
  const auto device = Device::open("reference");
  const auto model = make_small_model(small_configs()[0], device);
  favour(*model, Vocabulary::eos, -100.0);
  const Sources sources({{4, 5, 6, 3}, {3}});
  SearchOptions options;
  for (const std::int64_t beam : {1, 3}) {
    options.beam = beam;
    options.max_length = 0;
    options.position_limit = 0;
    Results results = search(*model, sources.batch(), options);
    CHECK(results[0].front().tokens.size() == 18);
    CHECK(results[1].front().tokens.size() == 12);
    CHECK_FALSE(results[0].front().finished);
    options.position_limit = 15;
    results = search(*model, sources.batch(), options);
    CHECK(results[0].front().tokens.size() == 15);
    CHECK(results[1].front().tokens.size() == 12);
    options.max_length = 1;
    results = search(*model, sources.batch(), options);
    CHECK(results[0].front().tokens.size() == 1);
  }
}

TEST_CASE("sampling follows its seed and the model's probabilities") {
  const auto device = Device::open("reference");
  const auto model = make_small_model(small_configs()[1], device);
  const Sources source({{4, 5, 3}});
  SearchOptions options;
  options.max_length = 1;
  options.n_best = 4000;
  options.sampling = Sampling{2.0, 0, 5};
  // The chances of every first token at this temperature.
  Context context;
  const std::vector<std::int32_t> start = {Vocabulary::bos};
  const auto state = model->encode(source.batch(), 1, context);
  std::vector<double> chances = model->step(*state, start, context).to_vector<double>();
  double sum = 0.0;
  for (std::size_t token = 0; token < chances.size(); ++token) {
    const bool possible = token != 1 && token != 2;
    chances[token] = possible ? std::exp(chances[token] / 2.0) : 0.0;
    sum += chances[token];
  }
  const auto drawn = sample_search(*model, source.batch(), options).front();
  std::vector<double> counts(chances.size(), 0.0);
  for (const Hypothesis& hypothesis : drawn)
    counts[static_cast<std::size_t>(hypothesis.finished ? 3 : hypothesis.tokens.front())] += 1.0;
  for (std::size_t token = 0; token < chances.size(); ++token) {
    const double expected = chances[token] / sum;
    CHECK(std::abs(counts[token] / 4000.0 - expected) < 4.0 * std::sqrt(0.25 / 4000.0));
  }
  options.n_best = 20;
  options.max_length = 6;
  const Results first = search(*model, source.batch(), options);
  require_same(search(*model, source.batch(), options), first);
  options.sampling->seed = 6;
  const Results other = search(*model, source.batch(), options);
  bool differs = false;
  for (std::size_t k = 0; k < 20; ++k) differs = differs || other[0][k].tokens != first[0][k].tokens;
  CHECK(differs);
  options.sampling->top_k = 1;
  const auto greedy = greedy_search(*model, source.batch(), options).front();
  const Results only_best = search(*model, source.batch(), options);
  REQUIRE(only_best.front().size() == 20);
  for (const Hypothesis& hypothesis : only_best.front()) CHECK(hypothesis.tokens == greedy.tokens);
}

TEST_CASE("no sentences give no results") {
  const auto model = make_small_model(small_configs()[2], Device::open("reference"));
  SearchOptions options;
  CHECK(search(*model, TokenBatch{}, options).empty());
  options.beam = 2;
  CHECK(search(*model, TokenBatch{}, options).empty());
}

TEST_CASE("a model with numbers that are not finite is an error") {
  const auto model = make_small_model(small_configs()[2], Device::open("reference"));
  favour(*model, 5, std::nan(""));
  const Sources source({{4, 3}});
  SearchOptions options;
  for (const std::int64_t beam : {1, 2}) {
    options.beam = beam;
    const auto error = error_of([&] { search(*model, source.batch(), options); });
    REQUIRE(error);
    CHECK(error->code() == ExitCode::input_data);
  }
}

TEST_CASE("search options that cannot be are usage errors") {
  const auto code_of = [](const SearchOptions& options) {
    const auto error = error_of([&] { check(options); });
    return error ? error->code() : ExitCode::ok;
  };
  SearchOptions options;
  CHECK(code_of(options) == ExitCode::ok);
  options.n_best = 2;
  CHECK(code_of(options) == ExitCode::usage);
  options.sampling = Sampling{};
  CHECK(code_of(options) == ExitCode::ok);
  options.sampling->temperature = 0.0;
  CHECK(code_of(options) == ExitCode::usage);
  options = {};
  options.beam = 0;
  CHECK(code_of(options) == ExitCode::usage);
  options = {};
  options.max_length = -1;
  CHECK(code_of(options) == ExitCode::usage);
}
