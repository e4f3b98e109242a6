// Every combination of the recurrent models' options.
#include <set>

#include "model_support.h"

namespace {

using namespace attn;
using namespace attn::test;

constexpr auto vocabulary = static_cast<std::size_t>(small_vocabularies.target);

std::vector<NamedConfig> grid() {
  std::vector<NamedConfig> all;
  for (const auto type : {ModelConfig::Type::seq2seq, ModelConfig::Type::seq2seq_attention}) {
    for (const auto cell : {RecurrentCell::gru, RecurrentCell::lstm}) {
      for (const bool bidirectional : {false, true}) {
        for (const auto scoring : {Scoring::additive, Scoring::dot, Scoring::general}) {
          for (const bool deep : {false, true}) {
            const bool attention = type == ModelConfig::Type::seq2seq_attention;
            if (!attention && scoring != Scoring::additive) continue;
            if (bidirectional && scoring == Scoring::dot) continue;
            ModelConfig config;
            config.type = type;
            config.embedding_size = 5;
            config.hidden_size = 4;
            config.dropout = config.embedding_dropout = 0.0;
            config.cell = cell;
            config.bidirectional = bidirectional;
            config.scoring = scoring;
            config.deep_output = deep;
            const std::string name = std::string(attention ? "attention" : "no attention") +
                                     (cell == RecurrentCell::gru ? ", GRU" : ", LSTM") +
                                     (bidirectional ? ", both directions" : "") +
                                     (scoring == Scoring::dot       ? ", dot"
                                      : scoring == Scoring::general ? ", general"
                                                                    : "") +
                                     (deep ? ", deep output" : "");
            all.push_back({name, config});
          }
        }
      }
    }
  }
  return all;
}

template<typename Action>
void for_the_grid(Action action) {
  for (const Setting& setting : settings()) {
    for (const NamedConfig& named : grid()) {
      INFO(setting.name << ", " << named.name);
      action(setting, *make_small(named.config, setting.device, setting.type));
    }
  }
}

// The first rows of a sentence in logits of several sentences of `steps` tokens.
std::vector<double> rows_of(const std::vector<double>& logits, std::size_t sentence, std::size_t steps,
                            std::size_t rows) {
  const auto begin = logits.begin() + static_cast<std::ptrdiff_t>(sentence * steps * vocabulary);
  return {begin, begin + static_cast<std::ptrdiff_t>(rows * vocabulary)};
}

double loss_of(const TranslationModel& model) {
  Context context;
  const auto logits = model.forward(small_source.batch(), small_input.batch(), context);
  return ops::sum(token_losses(logits, small_labels, small_input.batch().steps)).item();
}

}  // namespace

TEST_CASE(
    "recurrent models: decoding step by step gives the logits of teacher forcing in every combination") {
  for_the_grid([](const Setting& setting, const TranslationModel& model) {
    const auto forced = forced_logits(model, small_source, Sentences({{bos_id, 4, 6}, {bos_id, 7, 8}}));
    Context context;
    const auto state = model.encode(small_source.batch(), 3, context);
    std::vector<std::vector<double>> steps;
    for (const std::vector<std::int32_t>& tokens :
         std::vector<std::vector<std::int32_t>>{{bos_id, bos_id}, {4, 7}, {6, 8}})
      steps.push_back(model.step(*state, tokens, context).to_vector<double>());
    for (std::size_t t = 0; t < 3; ++t) {
      for (std::size_t b = 0; b < 2; ++b) {
        INFO("step " << t << ", sentence " << b);
        CHECK(relative_difference(rows_of(steps[t], b, 1, 1), rows_of(forced, b * 3 + t, 1, 1)) <
              setting.tolerance);
      }
    }
  });
}

TEST_CASE("recurrent models: neighbours and padding do not change a sentence in any combination") {
  for_the_grid([](const Setting& setting, const TranslationModel& model) {
    const std::vector<std::int32_t> first = {4, 7, 5, 8, eos_id}, second = {6, 5, eos_id}, empty = {};
    const Sentences input({{bos_id, 7}}), three_inputs({{bos_id, 7}, {bos_id, 7}, {bos_id, 7}});
    const auto together = forced_logits(model, Sentences({first, second, empty}, 8), three_inputs);
    const auto reversed = forced_logits(model, Sentences({{8, 5, 7, 4, eos_id}}), input);
    CHECK(relative_difference(rows_of(together, 0, 2, 2), forced_logits(model, Sentences({first}), input)) <
          setting.tolerance);
    CHECK(relative_difference(rows_of(together, 1, 2, 2), forced_logits(model, Sentences({second}), input)) <
          setting.tolerance);
    CHECK(relative_difference(rows_of(together, 2, 2, 2),
                              forced_logits(model, Sentences({empty}, 1), input)) < setting.tolerance);
    CHECK(relative_difference(rows_of(together, 0, 2, 2), reversed) > 1e-3);  // the order of words matters
  });
}

TEST_CASE("recurrent models: rows of a decoder state can be chosen in every combination") {
  for_the_grid([](const Setting&, const TranslationModel& model) {
    Context context;
    const std::vector<std::int32_t> first = {bos_id, bos_id}, second = {4, 7};
    const auto straight = model.encode(small_source.batch(), 3, context);
    model.step(*straight, first, context);
    const auto expected = model.step(*straight, second, context).to_vector<double>();
    const auto state = model.encode(small_source.batch(), 3, context);
    model.step(*state, first, context);
    state->select_rows(std::vector<std::int32_t>{1, 1, 0});
    const std::vector<std::int32_t> tokens = {7, 7, 4};
    const auto found = model.step(*state, tokens, context).to_vector<double>();
    CHECK(relative_difference(rows_of(found, 0, 1, 1), rows_of(expected, 1, 1, 1)) < 1e-6);
    CHECK(relative_difference(rows_of(found, 2, 1, 1), rows_of(expected, 0, 1, 1)) < 1e-6);
  });
}

TEST_CASE("recurrent models: a few steps of descent lower the loss in every combination") {
  for_the_grid([](const Setting&, TranslationModel& model) {
    ParameterStore& store = model.parameters();
    const double before = loss_of(model);
    Tape tape;
    store.train_with(tape);
    for (int update = 0; update < 5; ++update) {
      Context context;
      const auto logits = model.forward(small_source.batch(), small_input.batch(), context);
      tape.backward(ops::sum(token_losses(logits, small_labels, small_input.batch().steps)));
      for (const ParameterHandle& parameter : store.all()) {
        INFO(parameter->path);
        const auto gradient = parameter->gradient.to_vector<double>();
        CHECK(std::set<double>(gradient.begin(), gradient.end()) != std::set<double>{0.0});
      }
      auto values = store.flat().to_vector<double>();
      const auto gradients = store.flat_gradients().to_vector<double>();
      for (std::size_t i = 0; i < values.size(); ++i) values[i] -= 0.05 * gradients[i];
      store.flat().assign<double>(values);
      tape.clear();
    }
    store.stop_training();
    CHECK(loss_of(model) < before);
  });
}
