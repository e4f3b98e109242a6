#include <cmath>

#include "attn/core/error.h"
#include "support/catch.h"
#include "support/error_of.h"
#include "support/text_files.h"
#include "training/training_support.h"

namespace {

using namespace attn;
using namespace attn::test;

struct TrainedState {
  std::vector<double> values;
  std::vector<double> losses;
  Trainer::Outcome outcome = Trainer::Outcome::finished;
  TrainingProgress progress;
};

// Trains a new model to the end of `training`.
TrainedState trained(const ModelConfig& config, const TrainerConfig& training,
                     const std::shared_ptr<Device>& device, DType type = DType::f32,
                     TrainerHooks hooks = {}) {
  const EncodedCorpus corpus = small_corpus(22);
  const auto model =
      make_translation_model(config, {small_vocabulary, small_vocabulary}, device, type, training.seed);
  Trainer trainer(*model, corpus, training);
  TrainedState state;
  hooks.after_update = [&](const UpdateReport& report) { state.losses.push_back(report.loss); };
  state.outcome = trainer.run(hooks);
  state.values = state_of(*model, trainer.optimizer());
  state.progress = trainer.progress();
  return state;
}

// Trains to the end in two runs with a checkpoint between them, the first of which `first` and `hooks` end.
TrainedState trained_in_two_parts(const ModelConfig& config, const TrainerConfig& first,
                                  const TrainerConfig& second, const std::shared_ptr<Device>& device,
                                  const TrainerHooks& hooks) {
  const EncodedCorpus corpus = small_corpus(22);
  const TemporaryFolder folder;
  const auto path = folder.path() / "between.h5";
  {
    TranslationSystem system = system_of(config, device, DType::f32, first.seed);
    Trainer trainer(*system.model, corpus, first);
    trainer.run(hooks);
    save_checkpoint(path, system, &trainer.optimizer(), trainer.progress(), {"", first.seed, "sha"});
  }
  TranslationSystem system = system_of(config, device, DType::f32, 1234);
  Trainer trainer(*system.model, corpus, second);
  trainer.progress() = resume_from_checkpoint(path, system, trainer.optimizer(), "sha");
  TrainedState state;
  state.outcome = trainer.run({});
  state.values = state_of(*system.model, trainer.optimizer());
  state.progress = trainer.progress();
  return state;
}

TrainerHooks stop_after(std::int64_t updates) {
  TrainerHooks hooks;
  hooks.stop_requested = [left = updates]() mutable { return --left <= 0; };
  return hooks;
}

}  // namespace

TEST_CASE("training learns") {
  TrainerConfig training = small_training(60);
  for (const ModelConfig& config : trained_models()) {
    const TrainedState state = trained(config, training, device_of(fast_backend()));
    INFO(name_of(config) << ": " << state.losses.front() << " to " << state.losses.back());
    CHECK(state.losses.back() < 0.5 * state.losses.front());
    CHECK(state.outcome == Trainer::Outcome::finished);
  }
}

TEST_CASE("the number of threads does not change a single bit of parameters and moments") {
  for (const ModelConfig& config : trained_models()) {
    const TrainedState one = trained(config, small_training(5), device_of(fast_backend(), 1));
    const TrainedState two = trained(config, small_training(5), device_of(fast_backend(), 2));
    INFO(name_of(config));
    CHECK(one.progress.update == 30);
    CHECK(one.values == two.values);
    CHECK(one.losses == two.losses);
  }
}

TEST_CASE("the number of threads does not change a wide model either") {
  const std::int64_t width = fast_backend() == "eigen" ? 160 : 32;  // wide enough to be split among threads
  for (ModelConfig config : trained_models()) {
    config.embedding_size = config.hidden_size = width;
    config.heads = 4;
    config.feed_forward_size = 2 * width;
    TrainerConfig training = small_training(1);
    training.batches.batch_size = 22;
    training.epochs = 3;
    const TrainedState one = trained(config, training, device_of(fast_backend(), 1));
    const TrainedState two = trained(config, training, device_of(fast_backend(), 2));
    INFO(name_of(config));
    CHECK(one.values == two.values);
  }
}

TEST_CASE("a run that was interrupted and resumed equals one that was not, bit for bit") {
  const auto device = device_of(fast_backend());
  for (const ModelConfig& config : trained_models()) {
    const TrainedState whole = trained(config, small_training(3), device);
    for (const std::int64_t stop : {1, 4, 6, 11, 18}) {  // an epoch has 6 updates
      INFO(name_of(config) << " stopped after update " << stop);
      const TrainedState resumed =
          trained_in_two_parts(config, small_training(3), small_training(3), device, stop_after(stop));
      CHECK(resumed.outcome == Trainer::Outcome::finished);
      CHECK(resumed.values == whole.values);
      CHECK(resumed.progress.update == 18);
      CHECK(resumed.progress.tokens_seen == whole.progress.tokens_seen);
    }
  }
}

TEST_CASE("resuming in the middle of sorted batches of tokens and with every optimizer is exact") {
  const auto device = device_of(fast_backend());
  for (const auto kind : {OptimizerConfig::Kind::sgd, OptimizerConfig::Kind::adamw}) {
    TrainerConfig training = small_training(2);
    training.optimizer.kind = kind;
    training.optimizer.momentum = 0.9;
    training.optimizer.weight_decay = 0.01;
    training.batches = {};
    training.batches.batch_tokens = 60;
    training.batches.sort_by_length = true;
    training.loss.smoothing = 0.1;
    training.schedule.kind = ScheduleConfig::Kind::noam;
    training.schedule.warmup_updates = 4;
    const TrainedState whole = trained(trained_models()[2], training, device);
    const TrainedState resumed =
        trained_in_two_parts(trained_models()[2], training, training, device, stop_after(3));
    CHECK(resumed.values == whole.values);
  }
}

TEST_CASE(
    "max_updates in the middle of an epoch leaves it unfinished, and a larger limit continues exactly") {
  const auto device = device_of(fast_backend());
  TrainerConfig limited = small_training(3);
  limited.max_updates = 9;
  for (const ModelConfig& config : trained_models()) {
    INFO(name_of(config));
    const TrainedState stopped = trained(config, limited, device);
    CHECK(stopped.outcome == Trainer::Outcome::finished);
    CHECK(stopped.progress.update == 9);
    CHECK(stopped.progress.epoch == 1);
    CHECK(stopped.progress.batch == 3);
    CHECK(stopped.progress.epoch_tokens > 0);

    TrainerConfig larger = limited;
    larger.max_updates = 17;
    const TrainedState whole = trained(config, larger, device);
    const TrainedState continued = trained_in_two_parts(config, limited, larger, device, {});
    CHECK(continued.values == whole.values);
    CHECK(continued.progress.epoch_nats == whole.progress.epoch_nats);
    larger.max_updates = 0;
    CHECK(trained_in_two_parts(config, limited, larger, device, {}).values ==
          trained(config, small_training(3), device).values);
  }
}

TEST_CASE("where max_updates ends an epoch, metrics and validation still happen once") {
  TrainerConfig limited = small_training(5);
  limited.max_updates = 9;
  limited.validate_every = 4;
  std::vector<std::int64_t> reported, validated;
  std::vector<bool> last;
  TrainerHooks hooks;
  hooks.after_epoch = [&](const EpochReport& report) { reported.push_back(report.epoch); };
  hooks.validate = [&](const EpochReport& report) {
    validated.push_back(report.update);
    return Validation{1.0};
  };
  hooks.epoch_done = [&](const TrainingProgress&, bool is_last) { last.push_back(is_last); };
  const TrainedState state =
      trained(trained_models()[0], limited, device_of(fast_backend()), DType::f32, hooks);
  CHECK(reported == std::vector<std::int64_t>{1, 2});
  CHECK(validated == std::vector<std::int64_t>{9});
  CHECK(last == std::vector<bool>{false, true});
  CHECK(state.progress.has_best);
  CHECK(state.progress.best_epoch == 2);
}

TEST_CASE("reference and eigen agree on the losses of the first updates, dropout on") {
  if (fast_backend() == "reference") {
    WARN("not tested, the eigen plugin is not built");
    return;
  }
  TrainerConfig training = small_training(4);
  training.max_updates = 20;
  for (const ModelConfig& config : trained_models()) {
    const TrainedState reference = trained(config, training, device_of("reference"));
    const TrainedState eigen = trained(config, training, device_of("eigen"));
    INFO(name_of(config));
    REQUIRE(reference.losses.size() == 20);
    REQUIRE(eigen.losses.size() == 20);
    for (std::size_t i = 0; i < 20; ++i) {
      INFO("update " << i + 1);
      CHECK(std::abs(eigen.losses[i] - reference.losses[i]) <= 1e-5 * reference.losses[i]);
    }
  }
}

TEST_CASE("the seed changes dropout and order, and the same seed repeats them") {
  const auto device = device_of(fast_backend());
  TrainerConfig training = small_training(1);
  const TrainedState first = trained(trained_models()[0], training, device);
  CHECK(trained(trained_models()[0], training, device).values == first.values);
  training.seed = 6;
  CHECK(trained(trained_models()[0], training, device).values != first.values);
}

TEST_CASE("training stops early when validations stop improving, and resuming does not go on") {
  const auto device = device_of(fast_backend());
  TrainerConfig training = small_training(20);
  training.patience = 2;
  const std::vector<double> metrics{3.0, 2.0, 2.5, 1.5, 1.6, 1.5, 9.0};
  std::size_t asked = 0;
  std::vector<std::int64_t> best;
  TrainerHooks hooks;
  hooks.validate = [&](const EpochReport&) { return Validation{metrics.at(asked++)}; };
  hooks.improved = [&](const TrainingProgress& progress) { best.push_back(progress.best_epoch); };
  SECTION("smaller is better") {
    const TrainedState state = trained(trained_models()[0], training, device, DType::f32, hooks);
    CHECK(state.outcome == Trainer::Outcome::stopped_early);
    CHECK(state.progress.epoch == 6);
    CHECK(best == std::vector<std::int64_t>{1, 2, 4});
    CHECK(state.progress.best_metric == 1.5);
  }
  SECTION("larger is better") {
    training.larger_is_better = true;
    const TrainedState state = trained(trained_models()[0], training, device, DType::f32, hooks);
    CHECK(state.outcome == Trainer::Outcome::stopped_early);
    CHECK(state.progress.epoch == 3);
    CHECK(best == std::vector<std::int64_t>{1});
  }
  SECTION("resumed") {
    const TrainedState state = trained_in_two_parts(trained_models()[0], training, training, device, hooks);
    CHECK(state.outcome == Trainer::Outcome::stopped_early);
    CHECK(state.progress.epoch == 6);
  }
}

TEST_CASE("validation happens every so many epochs and at the end") {
  TrainerConfig training = small_training(5);
  training.validate_every = 2;
  std::vector<std::int64_t> epochs;
  TrainerHooks hooks;
  hooks.validate = [&](const EpochReport& report) {
    epochs.push_back(report.epoch);
    return Validation{1.0};
  };
  trained(trained_models()[0], training, device_of(fast_backend()), DType::f32, hooks);
  CHECK(epochs == std::vector<std::int64_t>{2, 4, 5});
  epochs.clear();
  training.validate_every = 0;
  trained(trained_models()[0], training, device_of(fast_backend()), DType::f32, hooks);
  CHECK(epochs.empty());
}

TEST_CASE("a loss that is no longer finite stops training and names update, tensor and lines") {
  for (const ModelConfig& config : trained_models()) {
    TrainerConfig training = small_training(3);
    training.schedule.learning_rate = 1e38;
    training.batches.shuffle = false;
    const auto error = error_of([&] { trained(config, training, device_of(fast_backend())); });
    INFO(name_of(config));
    REQUIRE(error);
    const std::string message = error->what();
    INFO(message);
    CHECK(error->code() == ExitCode::config);
    CHECK(contains(message, "update 2: "));
    CHECK(contains(message, "lines of the batch: 5, 6, 7, 8;"));
    CHECK(contains(message, "first tensor that is not finite: "));
    CHECK(contains(message, "'encoder."));
    CHECK_FALSE(contains(message, "-nan"));
  }
}

TEST_CASE("where the parameters are finite but a loss overflows, the gradient is named") {
  TrainerConfig training = small_training(3);
  training.optimizer.kind = OptimizerConfig::Kind::sgd;
  training.optimizer.clip_norm = 1.0;
  training.schedule.learning_rate = 1e30;
  const auto error = error_of([&] { trained(trained_models()[2], training, device_of(fast_backend())); });
  REQUIRE(error);
  INFO(error->what());
  CHECK(contains(error->what(), "first tensor that is not finite: the gradient of '"));
}

TEST_CASE("a parameter that is not finite is named") {
  const EncodedCorpus corpus = small_corpus(8);
  const auto model = make_translation_model(trained_models()[0], {small_vocabulary, small_vocabulary},
                                            device_of(fast_backend()), DType::f32, 1);
  Trainer trainer(*model, corpus, small_training(1));
  const ParameterHandle bias = model->parameters().find("decoder.dense.bias");
  REQUIRE(bias);
  bias->tensor.assign<double>(std::vector<double>(small_vocabulary, std::nan("")));
  const auto error = error_of([&] { trainer.run({}); });
  REQUIRE(error);
  CHECK(contains(error->what(), "not finite: parameter 'decoder.dense.bias'"));
  CHECK(trainer.progress().update == 0);
}

TEST_CASE("evaluation has neither dropout nor smoothing and does not depend on batches") {
  const EncodedCorpus corpus = small_corpus(22);
  for (const ModelConfig& config : trained_models()) {
    const auto model = make_translation_model(config, {small_vocabulary, small_vocabulary},
                                              device_of(fast_backend()), DType::f64, 1);
    BatchOptions alone, together;
    alone.batch_size = 1;
    together.batch_size = 22;
    const LossTotals one = evaluate_loss(*model, corpus, alone),
                     all = evaluate_loss(*model, corpus, together);
    INFO(name_of(config));
    CHECK(one.tokens == corpus.target_tokens());
    CHECK(all.tokens == one.tokens);
    CHECK(all.nats == Approx(one.nats).epsilon(1e-10));
    CHECK(one.per_token() == Approx(std::log(small_vocabulary)).epsilon(0.3));
  }
}
