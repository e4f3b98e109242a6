// What must hold for every model whatever its parameters are.
#include <cmath>

#include "attn/op_kinds.h"
#include "model_support.h"

namespace {

using namespace attn;
using namespace attn::test;

constexpr std::int64_t vocabulary = small_vocabularies.target;

// Logits of feeding tokens[t][row] at step t.
std::vector<std::vector<double>> stepwise(const TranslationModel& model, DecoderState& state,
                                          const std::vector<std::vector<std::int32_t>>& tokens) {
  Context context;
  std::vector<std::vector<double>> logits;
  for (const auto& row : tokens) logits.push_back(model.step(state, row, context).to_vector<double>());
  return logits;
}

std::vector<double> row_of(const std::vector<double>& rows, std::size_t row) {
  const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(row) * vocabulary;
  return {begin, begin + vocabulary};
}

// Runs an action for every small model in every setting.
template<typename Action>
void for_all_models(double dropout, Action action) {
  for (const Setting& setting : settings()) {
    for (const NamedConfig& named : small_models(dropout)) {
      INFO(setting.name << ", " << named.name);
      action(setting, named.config);
    }
  }
}

// One step of training; the loss.
double train_step(const TranslationModel& model, Tape& tape, const Tensor& random) {
  Context context(random);
  const auto logits = model.forward(small_source.batch(), small_input.batch(), context);
  const Tensor loss = ops::sum(token_losses(logits, small_labels, small_input.batch().steps));
  const double value = loss.item();
  tape.backward(loss);
  return value;
}

}  // namespace

TEST_CASE("a sentence gives the same logits alone and beside a longer one") {
  for_all_models(0.0, [](const Setting& setting, const ModelConfig& config) {
    const auto model = make_small(config, setting.device, setting.type);
    const Sentences source({{6, 5, eos_id}}), input({{bos_id, 7}});
    const auto alone = forced_logits(*model, source, input);
    const auto both = forced_logits(*model, small_source, small_input);
    const auto begin = both.begin() + small_input.batch().steps * vocabulary;
    CHECK(std::vector<double>(begin, begin + 2 * vocabulary) == alone);
  });
}

TEST_CASE("further padding changes nothing") {
  for_all_models(0.0, [](const Setting& setting, const ModelConfig& config) {
    const auto model = make_small(config, setting.device, setting.type);
    const Sentences padded({{4, 7, 5, 8, eos_id}, {6, 5, eos_id}}, 6);
    CHECK(forced_logits(*model, padded, small_input) == forced_logits(*model, small_source, small_input));
  });
}

TEST_CASE("encoding the padding, as in the book, makes a state depend on it") {
  for (const Setting& setting : settings()) {
    for (NamedConfig named : small_recurrent_models(0.0)) {
      named.config.encode_padding = true;
      const auto model = make_small(named.config, setting.device, setting.type);
      const Sentences padded({{4, 7, 5, 8, eos_id}, {6, 5, eos_id}}, 6);
      CHECK(forced_logits(*model, padded, small_input) != forced_logits(*model, small_source, small_input));
    }
  }
}

TEST_CASE("decoding step by step gives the logits of teacher forcing") {
  for_all_models(0.0, [](const Setting& setting, const ModelConfig& config) {
    const auto model = make_small(config, setting.device, setting.type);
    const Sentences input({{bos_id, 4, 6, 5}, {bos_id, 7, 8, 4}});
    const auto forced = forced_logits(*model, small_source, input);
    Context context;
    const auto state = model->encode(small_source.batch(), 5, context);
    CHECK(state->position() == 0);
    const auto steps = stepwise(*model, *state, {{bos_id, bos_id}, {4, 7}, {6, 8}, {5, 4}});
    CHECK(state->position() == 4);
    for (std::size_t t = 0; t < 4; ++t) {
      for (std::size_t b = 0; b < 2; ++b) {
        INFO("step " << t << ", sentence " << b);
        CHECK(relative_difference(row_of(steps[t], b), row_of(forced, b * 4 + t)) < setting.tolerance);
      }
    }
  });
}

TEST_CASE("rows of a decoder state can be repeated, reordered and left out") {
  for_all_models(0.0, [](const Setting& setting, const ModelConfig& config) {
    const auto model = make_small(config, setting.device, setting.type);
    Context context;
    const auto expected_state = model->encode(small_source.batch(), 5, context);
    const auto expected = stepwise(*model, *expected_state, {{bos_id, bos_id}, {4, 7}, {6, 8}});
    const auto state = model->encode(small_source.batch(), 5, context);
    stepwise(*model, *state, {{bos_id, bos_id}});
    state->select_rows(std::vector<std::int32_t>{1, 0, 1});
    const auto three = stepwise(*model, *state, {{7, 4, 7}}).front();
    CHECK(row_of(three, 0) == row_of(expected[1], 1));
    CHECK(row_of(three, 1) == row_of(expected[1], 0));
    CHECK(row_of(three, 2) == row_of(expected[1], 1));
    state->select_rows(std::vector<std::int32_t>{2});
    CHECK(stepwise(*model, *state, {{8}}).front() == row_of(expected[2], 1));
  });
}

TEST_CASE("dropout: seed and step decide the loss, and nothing is dropped outside training") {
  for_all_models(0.5, [](const Setting& setting, const ModelConfig& config) {
    const auto model = make_small(config, setting.device, setting.type);
    Tape tape;
    model->parameters().train_with(tape);
    const auto loss = [&](std::int32_t seed, std::int32_t step) {
      return train_step(*model, tape, dropout_counter(setting.device, seed, step));
    };
    CHECK(loss(1, 1) == loss(1, 1));
    CHECK(loss(1, 1) != loss(1, 2));
    CHECK(loss(1, 1) != loss(2, 1));
    model->parameters().stop_training();
    ModelConfig without = config;
    without.dropout = without.feed_forward_dropout = without.embedding_dropout = 0.0;
    without.attention_dropout.reset();
    const auto other = make_small(without, setting.device, setting.type);
    CHECK(forced_logits(*model, small_source, small_input) ==
          forced_logits(*other, small_source, small_input));
  });
}

TEST_CASE("a second step of training asks the backend for no memory") {
  for_all_models(0.2, [](const Setting& setting, const ModelConfig& config) {
    const auto model = make_small(config, setting.device, setting.type);
    Tape tape;
    model->parameters().train_with(tape);
    const Tensor random = dropout_counter(setting.device, 1, 1);
    setting.device->release_cache();  // so that other models have left nothing
    const std::uint64_t before = setting.device->memory().allocations;
    train_step(*model, tape, random);
    const std::uint64_t first = setting.device->memory().allocations;
    CHECK(first > before);
    const std::size_t in_use = setting.device->memory().in_use;
    train_step(*model, tape, random);
    CHECK(setting.device->memory().allocations == first);
    CHECK(setting.device->memory().in_use == in_use);
  });
}

TEST_CASE("attention weights are computed for an observer only") {
  for (const Setting& setting : settings()) {
    for (const NamedConfig& named : small_models(0.0)) {
      if (named.config.type != ModelConfig::Type::transformer) continue;
      INFO(setting.name << ", " << named.name);
      const auto model = make_small(named.config, setting.device, setting.type);
      int fused = 0, with_weights = 0;
      setting.device->set_observer([&](const attn_op& op, const char*) {
        if (op.kind != ATTN_OP_ATTENTION) return;
        ++fused;
        with_weights += op.output_count > 2 && op.tensors[op.input_count + 2].rank >= 0;
      });
      forced_logits(*model, small_source, small_input);
      CHECK(with_weights == 0);
      const int unobserved = fused;
      Context context;
      context.observe([](AttentionKind, std::int64_t, const Tensor&) {});
      forced_logits(*model, small_source, small_input, context);
      CHECK(with_weights == fused - unobserved);
      if (setting.name.starts_with("eigen")) {
        const std::int64_t layers = named.config.encoder_layers + 2 * named.config.decoder_layers;
        CHECK(unobserved == layers);
      }
      setting.device->set_observer({});
    }
  }
}

TEST_CASE("watching the weights changes no logit") {
  for_all_models(0.0, [](const Setting& setting, const ModelConfig& config) {
    const auto model = make_small(config, setting.device, setting.type);
    Context context;
    context.observe([](AttentionKind, std::int64_t, const Tensor&) {});
    const auto watched = forced_logits(*model, small_source, small_input, context);
    CHECK(relative_difference(watched, forced_logits(*model, small_source, small_input)) < setting.tolerance);
  });
}

TEST_CASE("a source without tokens: zero weights by exact masking, uniform ones by the book's") {
  for (const Setting& setting : settings()) {
    for (NamedConfig named : small_models(0.0)) {
      for (const attn_masking masking : {ATTN_MASK_EXACT, ATTN_MASK_BOOK}) {
        INFO(setting.name << ", " << named.name << ", masking " << masking);
        named.config.masking = masking;
        const auto model = make_small(named.config, setting.device, setting.type);
        Tape tape;
        model->parameters().train_with(tape);
        const Sentences source({{4, 7, 5, 8}, {}});
        Context context;
        std::vector<SeenWeights> seen;
        record_weights(context, seen);
        const auto logits = model->forward(source.batch(), small_input.batch(), context);
        for (const SeenWeights& weights : seen) {
          if (weights.kind == AttentionKind::decoder_self) continue;
          const double expected = masking == ATTN_MASK_EXACT ? 0.0 : 0.25;
          for (std::size_t i = weights.values.size() / 2; i < weights.values.size(); ++i)
            CHECK(weights.values[i] == Approx(expected));
        }
        tape.backward(ops::sum(token_losses(logits, small_labels, small_input.batch().steps)));
        for (const double gradient : model->parameters().flat_gradients().to_vector<double>())
          CHECK(std::isfinite(gradient));
      }
    }
  }
}
