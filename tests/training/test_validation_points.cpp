// When validations and checkpoints by updates happen, and what the moving average has to do with them.
#include "support/catch.h"
#include "support/error_of.h"
#include "support/text_files.h"
#include "training/training_support.h"

namespace {

using namespace attn;
using namespace attn::test;

struct Events {
  std::vector<std::string> list;
  std::vector<double> epochs_done;
};

// What happens in a training of 6 updates an epoch; validations find `metrics`, then 1.
Trainer::Outcome run(TrainerConfig config, Events& events, std::vector<double> metrics = {},
                     TrainingProgress* progress = nullptr) {
  const EncodedCorpus corpus = small_corpus(22);
  const auto model = make_translation_model(trained_models()[0], {small_vocabulary, small_vocabulary},
                                            device_of(fast_backend()), DType::f32, 1);
  Trainer trainer(*model, corpus, config);
  if (progress != nullptr) trainer.progress() = *progress;
  std::size_t asked = 0;
  const auto note = [&](const std::string& what) {
    events.list.push_back(what + std::to_string(trainer.progress().update));
  };
  TrainerHooks hooks;
  hooks.validate = [&](const EpochReport& report) {
    events.list.push_back((report.inside ? "inside " : "validate ") + std::to_string(report.update));
    events.epochs_done.push_back(report.epochs_done);
    return Validation{asked < metrics.size() ? metrics[asked++] : 1.0};
  };
  hooks.improved = [&](const TrainingProgress&) { note("improved "); };
  hooks.update_done = [&](const TrainingProgress&) {
    if (trainer.progress().update % 4 == 0) note("save ");
  };
  hooks.epoch_done = [&](const TrainingProgress&, bool last) { note(last ? "last " : "epoch "); };
  const Trainer::Outcome outcome = trainer.run(hooks);
  if (progress != nullptr) *progress = trainer.progress();
  return outcome;
}

}  // namespace

TEST_CASE("validations by updates happen inside epochs, before what is saved, and at the end") {
  TrainerConfig config = small_training(2);
  config.validate_every_updates = 4;
  Events events;
  run(config, events);
  CHECK(events.list == std::vector<std::string>{"inside 4", "improved 4", "save 4", "epoch 6", "inside 8",
                                                "save 8", "validate 12", "last 12"});
  CHECK(events.epochs_done.at(0) == Approx(4.0 / 6.0));
  CHECK(events.epochs_done.at(1) == Approx(8.0 / 6.0));
}

TEST_CASE("max_updates at a validation by updates validates once") {
  TrainerConfig config = small_training(5);
  config.validate_every_updates = 4;
  config.max_updates = 8;
  Events events;
  run(config, events);
  CHECK(events.list == std::vector<std::string>{"inside 4", "improved 4", "save 4", "epoch 6", "inside 8",
                                                "save 8", "last 8"});
}

TEST_CASE("patience counts validations by updates and stops inside an epoch") {
  TrainerConfig config = small_training(5);
  config.validate_every_updates = 2;
  config.patience = 2;
  Events events;
  TrainingProgress progress;
  CHECK(run(config, events, {3.0, 2.0, 2.5, 2.5}, &progress) == Trainer::Outcome::stopped_early);
  CHECK(progress.update == 8);
  CHECK(progress.epochs_without_improvement == 2);
  CHECK(events.list.back() == "last 8");
  Events again;
  CHECK(run(config, again, {}, &progress) == Trainer::Outcome::stopped_early);
  CHECK(again.list.empty());
}

TEST_CASE("a validation that an interrupted run still owed is done when it is resumed") {
  TrainerConfig config = small_training(1);
  config.validate_every_updates = 4;
  TrainingProgress progress;
  progress.update = progress.batch = 4;  // saved between the update and its validation
  Events events;
  run(config, events, {}, &progress);
  CHECK(events.list == std::vector<std::string>{"inside 4", "improved 4", "validate 6", "last 6"});
}

TEST_CASE("validations see the moving average, training goes on with the parameters") {
  const auto device = device_of(fast_backend());
  const EncodedCorpus corpus = small_corpus(22);
  const auto trained = [&](double decay, std::vector<std::vector<double>>* seen) {
    TrainerConfig config = small_training(3);
    config.average_decay = decay;
    const auto model = make_translation_model(trained_models()[0], {small_vocabulary, small_vocabulary},
                                              device, DType::f64, 1);
    Trainer trainer(*model, corpus, config);
    TrainerHooks hooks;
    hooks.validate = [&](const EpochReport&) {
      if (seen != nullptr) seen->push_back(parameters_of(*model));
      return Validation{1.0};
    };
    trainer.run(hooks);
    return parameters_of(*model);
  };
  std::vector<std::vector<double>> averages, plain;
  const std::vector<double> with = trained(0.8, &averages), without = trained(0.0, &plain);
  CHECK(with == without);
  CHECK(averages != plain);
}

TEST_CASE("the moving average is the recurrence of its definition") {
  const auto device = device_of(fast_backend());
  const EncodedCorpus corpus = small_corpus(22);
  TrainerConfig config = small_training(2);
  config.average_decay = 0.6;
  const auto model = make_translation_model(trained_models()[0], {small_vocabulary, small_vocabulary}, device,
                                            DType::f64, 1);
  std::vector<double> expected = model->parameters().flat().to_vector<double>();
  Trainer trainer(*model, corpus, config);
  TrainerHooks hooks;
  hooks.after_update = [&](const UpdateReport& report) {
    const auto n = static_cast<double>(report.update);
    const double decay = std::min(0.6, (1.0 + n) / (10.0 + n));
    const std::vector<double> now = model->parameters().flat().to_vector<double>();
    for (std::size_t i = 0; i < now.size(); ++i) expected[i] = decay * expected[i] + (1.0 - decay) * now[i];
  };
  trainer.run(hooks);
  const std::vector<double> found = trainer.average()->values().to_vector<double>();
  for (std::size_t i = 0; i < found.size(); ++i) REQUIRE(found[i] == Approx(expected[i]).margin(1e-12));
}
