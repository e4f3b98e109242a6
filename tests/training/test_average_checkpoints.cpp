#include "attn/core/error.h"
#include "attn/training/average_checkpoints.h"
#include "support/catch.h"
#include "support/error_of.h"
#include "support/text_files.h"
#include "training/training_support.h"

namespace {

using namespace attn;
using namespace attn::test;
using Paths = std::vector<std::filesystem::path>;

// Saves a model drawn from `seed` and returns its parameters.
std::vector<double> save(const std::filesystem::path& path, std::uint64_t seed, DType type = DType::f32,
                         ModelConfig config = trained_models()[2], std::int64_t extra_tokens = 0) {
  TranslationSystem system = system_of(config, device_of("reference"), type, seed);
  if (extra_tokens > 0) {
    std::vector<std::string> tokens;
    for (std::int64_t i = 0; i < small_vocabulary + extra_tokens - Vocabulary::special_count; ++i)
      tokens.push_back(fmt::format("w{}", i));
    system.text.target_vocabulary = Vocabulary::from_tokens(tokens);
    system.model = make_translation_model(config, {small_vocabulary, small_vocabulary + extra_tokens},
                                          device_of("reference"), type, seed);
  }
  save_checkpoint(path, system, nullptr, {}, {"", seed, "sha", {}});
  return parameters_of(*system.model);
}

std::string refusal(const Paths& paths, ExitCode code = ExitCode::input_data) {
  const auto error = error_of([&] { average_checkpoints(paths, device_of("reference")); });
  REQUIRE(error);
  CHECK(error->code() == code);
  return error->what();
}

}  // namespace

TEST_CASE("parameters of checkpoints are averaged") {
  const TemporaryFolder folder;
  const auto a = folder.path() / "a.h5", b = folder.path() / "b.h5", c = folder.path() / "c.h5";
  const DType type = GENERATE(DType::f32, DType::f64);
  const std::vector<double> x = save(a, 1, type), y = save(b, 2, type), z = save(c, 3, type);
  const TranslationSystem average = average_checkpoints(Paths{a, b, c}, device_of("reference"));
  CHECK(average.model->parameters().dtype() == type);
  const std::vector<double> found = parameters_of(*average.model);
  REQUIRE(found.size() == x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double mean = (x[i] + y[i] + z[i]) / 3.0;
    REQUIRE(found[i] == (type == DType::f32 ? static_cast<double>(static_cast<float>(mean)) : mean));
  }
  const auto out = folder.path() / "averaged.h5";
  save_checkpoint(out, average, nullptr, {}, {"", 1, "sha", {"a.h5", "b.h5", "c.h5"}});
  CHECK(parameters_of(*load_translation_system(out, device_of("reference"), type).model) == found);
  CHECK(read_checkpoint_information(out).origin.averaged_from ==
        std::vector<std::string>{"a.h5", "b.h5", "c.h5"});
}

TEST_CASE("checkpoints that do not belong together are refused by file and tensor") {
  const TemporaryFolder folder;
  const auto a = folder.path() / "a.h5", b = folder.path() / "b.h5";
  save(a, 1);
  SECTION("fewer than two, or one twice") {
    CHECK(contains(refusal({a}, ExitCode::usage), "at least two"));
    CHECK(contains(refusal({a, a}, ExitCode::usage), "named twice"));
  }
  SECTION("another width") {
    ModelConfig wide = trained_models()[2];
    wide.feed_forward_size = 32;
    save(b, 2, DType::f32, wide);
    const std::string message = refusal({a, b});
    INFO(message);
    CHECK(contains(message, "b.h5"));
    CHECK(contains(message, "a.h5"));
    CHECK(contains(message, "tensor 'encoder.blocks.0."));
  }
  SECTION("another model") {
    save(b, 2, DType::f32, trained_models()[1]);
    CHECK(contains(refusal({a, b}), "b.h5 cannot be averaged with the others"));
  }
  SECTION("a setting that changes no shape") {
    ModelConfig other = trained_models()[2];
    other.heads = 4;
    save(b, 2, DType::f32, other);
    CHECK(contains(refusal({a, b}), "model.heads"));
  }
  SECTION("another vocabulary") {
    save(b, 2, DType::f32, trained_models()[2], 3);
    CHECK(contains(refusal({a, b}), "tensor '"));
  }
  SECTION("other words, as many") {
    TranslationSystem system = system_of(trained_models()[2], device_of("reference"), DType::f32, 2);
    system.text.source_vocabulary = some_vocabulary("other");
    save_checkpoint(b, system, nullptr, {}, {"", 2, "sha", {}});
    CHECK(contains(refusal({a, b}), "source vocabulary"));
  }
  SECTION("other dropout does not matter") {
    ModelConfig other = trained_models()[2];
    other.dropout = 0.4;
    save(b, 2, DType::f32, other);
    CHECK_NOTHROW(average_checkpoints(Paths{a, b}, device_of("reference")));
  }
  SECTION("a file that is missing") {
    CHECK(contains(refusal({a, b}, ExitCode::file), "b.h5"));
  }
}

TEST_CASE(
    "translating takes the moving average of a checkpoint that has one, resuming needs the same setting") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "both.h5";
  const EncodedCorpus corpus = small_corpus(22);
  TrainerConfig config = small_training(1);
  config.average_decay = 0.9;
  TranslationSystem system = system_of(trained_models()[2], device_of(fast_backend()));
  Trainer trainer(*system.model, corpus, config);
  trainer.run({});
  save_checkpoint(path, system, &trainer.optimizer(), trainer.progress(), {"", 5, "sha", {}},
                  trainer.average());
  trainer.average()->exchange();
  const std::vector<double> averages = parameters_of(*system.model);
  trainer.average()->exchange();
  CHECK(parameters_of(*load_translation_system(path, device_of(fast_backend())).model) == averages);

  TrainingProgress progress =
      resume_from_checkpoint(path, system, trainer.optimizer(), "sha", trainer.average());
  CHECK(progress.update == trainer.progress().update);
  const auto error = error_of([&] { resume_from_checkpoint(path, system, trainer.optimizer(), "sha"); });
  REQUIRE(error);
  CHECK(contains(error->what(), "training.ema_decay: 0.9"));
  save_checkpoint(path, system, &trainer.optimizer(), trainer.progress(), {"", 5, "sha", {}});
  const auto contrary =
      error_of([&] { resume_from_checkpoint(path, system, trainer.optimizer(), "sha", trainer.average()); });
  REQUIRE(contrary);
  CHECK(contains(contrary->what(), "without a moving average"));
}
