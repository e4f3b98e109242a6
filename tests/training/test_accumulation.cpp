#include <cmath>

#include "attn/core/error.h"
#include "support/catch.h"
#include "support/text_files.h"
#include "training/training_support.h"

namespace {

using namespace attn;
using namespace attn::test;

// Batches of the given size, in order.
TrainerConfig in_order(std::size_t batch_size, std::int64_t accumulate) {
  TrainerConfig config = small_training(1);
  config.batches.batch_size = batch_size;
  config.batches.shuffle = false;
  config.accumulate = accumulate;
  return config;
}

std::vector<ModelConfig> without_dropout() {
  std::vector<ModelConfig> models = trained_models();
  for (ModelConfig& model : models) model.dropout = 0.0;
  return models;
}

// The gradient of the first `count` batches as one update, and what the update reports.
struct Gradient {
  std::vector<double> values;
  UpdateReport report;
};
Gradient gradient_of(const ModelConfig& model_config, const TrainerConfig& config, std::size_t count,
                     const EncodedCorpus& corpus, const std::shared_ptr<Device>& device) {
  const auto model =
      make_translation_model(model_config, {small_vocabulary, small_vocabulary}, device, DType::f64, 3);
  Trainer trainer(*model, corpus, config);
  const BatchPlan plan = BatchSampler(corpus, config.batches, config.seed).epoch(0);
  Gradient gradient;
  gradient.report = trainer.update(plan, 0, count);
  gradient.values = model->parameters().flat_gradients().to_vector<double>();
  return gradient;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

// A device with so much memory beyond what model and optimizer hold.
std::shared_ptr<Device> device_with(std::size_t bytes) {
  DeviceOptions options;
  options.threads = 1;
  options.memory_limit = bytes;
  return Device::open(fast_backend(), options);
}

// What one update of this model on all pairs needs at its peak, and what is held without any update.
struct Need {
  std::size_t before = 0, peak = 0;
};
Need need_of(const ModelConfig& model_config, const EncodedCorpus& corpus, std::size_t pairs) {
  const auto device = device_of(fast_backend());
  const auto model =
      make_translation_model(model_config, {small_vocabulary, small_vocabulary}, device, DType::f64, 3);
  const TrainerConfig config = in_order(pairs, 1);
  Trainer trainer(*model, corpus, config);
  Need need{device->memory().in_use, 0};
  device->reset_peak();
  (void)trainer.update(BatchSampler(corpus, config.batches, config.seed).epoch(0), 0);
  need.peak = device->memory().peak_in_use;
  return need;
}

}  // namespace

TEST_CASE("accumulated batches give the gradient of one batch of all their pairs") {
  const EncodedCorpus corpus = small_corpus(22);  // lengths differ, so do padding and tokens of the batches
  for (const ModelConfig& model : without_dropout()) {
    for (const auto mode : {LossConfig::Mode::token, LossConfig::Mode::book}) {
      INFO(name_of(model) << (mode == LossConfig::Mode::token ? ", token loss" : ", book loss"));
      TrainerConfig together = in_order(22, 1), apart = in_order(5, 5);
      together.loss.mode = apart.loss.mode = mode;
      together.loss.smoothing = apart.loss.smoothing = 0.1;
      const auto device = device_of(fast_backend());
      const Gradient one = gradient_of(model, together, 1, corpus, device),
                     five = gradient_of(model, apart, 5, corpus, device);
      CHECK(largest_difference(one.values, five.values) < 1e-12);
      CHECK(one.report.gradient_norm > 0.01);
      CHECK(five.report.tokens == corpus.target_tokens());
      CHECK(five.report.loss == Approx(one.report.loss).epsilon(1e-12));
    }
  }
}

TEST_CASE("a training with accumulation equals one with large batches to 1e-6 in f64") {
  const EncodedCorpus corpus = small_corpus(22);
  for (const ModelConfig& model_config : without_dropout()) {
    std::vector<double> parameters[2];
    for (const bool accumulated : {false, true}) {
      TrainerConfig config = accumulated ? in_order(4, 3) : in_order(12, 1);
      config.epochs = 5;
      const auto model = make_translation_model(model_config, {small_vocabulary, small_vocabulary},
                                                device_of(fast_backend()), DType::f64, 3);
      Trainer trainer(*model, corpus, config);
      trainer.run({});
      CHECK(trainer.progress().update == 10);  // 12 and 10 pairs an epoch
      parameters[accumulated ? 1 : 0] = parameters_of(*model);
    }
    INFO(name_of(model_config));
    CHECK(largest_difference(parameters[0], parameters[1]) < 1e-6);
  }
}

TEST_CASE("each batch of an update has dropout of its own, and the same again when repeated") {
  EncodedCorpus twice;  // two equal pairs
  for (int i = 0; i < 2; ++i) twice.add({5, 6, 7, 8}, {8, 7, 6, 5}, static_cast<std::size_t>(i) + 1);
  const auto device = device_of(fast_backend());
  const ModelConfig model = trained_models()[2];
  const Gradient once = gradient_of(model, in_order(1, 1), 1, twice, device),
                 both = gradient_of(model, in_order(1, 2), 2, twice, device);
  CHECK(largest_difference(once.values, both.values) > 1e-4);
  CHECK(gradient_of(model, in_order(1, 2), 2, twice, device).values == both.values);
}

TEST_CASE("stopping a training with accumulation after any update and resuming is exact") {
  const auto device = device_of(fast_backend());
  const EncodedCorpus corpus = small_corpus(22);
  TrainerConfig config = small_training(2);
  config.accumulate = 4;  // of 6 batches: updates of 4 and of 2
  config.average_decay = 0.9;
  const auto run = [&](std::int64_t stop) {
    const TemporaryFolder folder;
    const auto path = folder.path() / "between.h5";
    {
      TranslationSystem system = system_of(trained_models()[2], device, DType::f32, 5);
      Trainer trainer(*system.model, corpus, config);
      TrainerHooks hooks;
      hooks.stop_requested = [&] { return trainer.progress().update == stop; };
      trainer.run(hooks);
      CHECK((trainer.progress().batch % 4 == 0 || trainer.progress().batch == 6));
      save_checkpoint(path, system, &trainer.optimizer(), trainer.progress(), {"", 5, "sha", {}},
                      trainer.average());
    }
    TranslationSystem system = system_of(trained_models()[2], device, DType::f32, 77);
    Trainer trainer(*system.model, corpus, config);
    trainer.progress() = resume_from_checkpoint(path, system, trainer.optimizer(), "sha", trainer.average());
    trainer.run({});
    CHECK(trainer.progress().update == 4);
    std::vector<double> state = state_of(*system.model, trainer.optimizer());
    const std::vector<double> average = trainer.average()->values().to_vector<double>();
    state.insert(state.end(), average.begin(), average.end());
    return state;
  };
  const std::vector<double> whole = run(4);
  for (const std::int64_t stop : {1, 2, 3}) {
    INFO("stopped after update " << stop);
    CHECK(run(stop) == whole);
  }
}

TEST_CASE("a batch that does not fit into memory is done in parts, with the same gradient") {
  const EncodedCorpus corpus = small_corpus(22);
  for (const ModelConfig& model : without_dropout()) {
    INFO(name_of(model));
    const Need need = need_of(model, corpus, 22);
    const TrainerConfig config = in_order(22, 1);
    const Gradient whole = gradient_of(model, config, 1, corpus, device_of(fast_backend()));
    CHECK(whole.report.splits == 0);
    const auto small = device_with(need.before + (need.peak - need.before) / 2);
    const Gradient parts = gradient_of(model, config, 1, corpus, small);
    CHECK(parts.report.splits > 0);
    CHECK(parts.report.split_lines.size() == 22);
    CHECK(parts.report.skipped_lines.empty());
    CHECK(parts.report.tokens == whole.report.tokens);
    CHECK(largest_difference(whole.values, parts.values) < 1e-12);
    CHECK(small->memory().reserved <= need.before + (need.peak - need.before) / 2);
  }
}

TEST_CASE("a sentence that does not fit into memory is left out, and the others weigh the same") {
  const EncodedCorpus short_ones = small_corpus(6);
  EncodedCorpus with_long = small_corpus(6);
  const std::vector<std::int32_t> endless(400, 7);
  with_long.add(endless, endless, 99);
  const ModelConfig model = without_dropout()[2];
  const Need need = need_of(model, short_ones, 6);
  // Enough for one of the short ones and the sum of the gradients, far from enough for the long one.
  const std::size_t limit = need.peak + need.before;
  const Gradient expected = gradient_of(model, in_order(6, 1), 1, short_ones, device_of(fast_backend()));
  const Gradient found = gradient_of(model, in_order(7, 1), 1, with_long, device_with(limit));
  CHECK(found.report.skipped_lines == std::vector<std::size_t>{99});
  CHECK(found.report.tokens == expected.report.tokens);
  CHECK(largest_difference(expected.values, found.values) < 1e-12);
}

TEST_CASE("evaluation, too, leaves out a sentence that does not fit into memory, and names it") {
  const EncodedCorpus short_ones = small_corpus(6);
  EncodedCorpus with_long = small_corpus(6);
  const std::vector<std::int32_t> endless(400, 7);
  with_long.add(endless, endless, 99);
  const auto evaluate = [&](const EncodedCorpus& corpus, const std::shared_ptr<Device>& device) {
    const auto model = make_translation_model(trained_models()[2], {small_vocabulary, small_vocabulary},
                                              device, DType::f64, 3);
    return evaluate_loss(*model, corpus, in_order(7, 1).batches);
  };
  const auto unlimited = device_of(fast_backend());
  const LossTotals expected = evaluate(short_ones, unlimited);
  const LossTotals found = evaluate(with_long, device_with(unlimited->memory().peak_in_use + 32768));
  CHECK(found.skipped_lines == std::vector<std::size_t>{99});
  CHECK(found.tokens == short_ones.target_tokens());
  CHECK(found.nats == Approx(expected.nats).epsilon(1e-12));
}

TEST_CASE("where no sentence fits, updates go on without changing anything") {
  EncodedCorpus corpus;
  corpus.add(std::vector<std::int32_t>(500, 7), std::vector<std::int32_t>(500, 8), 4);
  const ModelConfig config = trained_models()[2];
  const Need need = need_of(config, small_corpus(2), 2);
  const auto model = make_translation_model(config, {small_vocabulary, small_vocabulary},
                                            device_with(need.peak + need.before), DType::f64, 3);
  TrainerConfig training = small_training(3);
  training.average_decay = 0.5;
  Trainer trainer(*model, corpus, training);
  const std::vector<double> before = parameters_of(*model);
  CHECK(trainer.run({}) == Trainer::Outcome::finished);
  CHECK(parameters_of(*model) == before);
  CHECK(trainer.progress().update == 3);
  CHECK(trainer.progress().skipped_sentences == 3);
  CHECK(trainer.optimizer().steps() == 0);
}
