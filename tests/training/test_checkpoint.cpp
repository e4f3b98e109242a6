#include <hdf5.h>
#include <hdf5_hl.h>

#include <cstring>
#include <fstream>

#include "attn/core/error.h"
#include "attn/io/atomic_file.h"
#include "attn/text/shuffle.h"
#include "support/catch.h"
#include "support/error_of.h"
#include "support/text_files.h"
#include "training/training_support.h"

namespace {

using namespace attn;
using namespace attn::test;
namespace fs = std::filesystem;

const std::string corpus_sha = "0123456789abcdef";

// A system that has been trained for a few updates, and its checkpoint.
class Saved {
 public:
  explicit Saved(const ModelConfig& config, DType type = DType::f32)
      : corpus_(small_corpus(12)),
        system(system_of(config, device_of(fast_backend()), type)),
        trainer(*system.model, corpus_, small_training(2)),
        path(folder.path() / "saved.h5") {
    trainer.run({});
    trainer.progress().has_best = true;
    trainer.progress().best_metric = 0.1 + 0.2;
    trainer.progress().best_epoch = 1;
    trainer.progress().epoch_nats = 1.0 / 3.0;
    save();
  }

  void save() {
    save_checkpoint(path, system, &trainer.optimizer(), trainer.progress(),
                    {"attn-train x.yaml", 5, corpus_sha});
  }
  TranslationSystem load(DType type = DType::f32) const {
    return load_translation_system(path, device_of(fast_backend()), type);
  }
  std::optional<Error> load_error() const {
    return error_of([this] { load(); });
  }

 private:
  EncodedCorpus corpus_;

 public:
  TemporaryFolder folder;
  TranslationSystem system;
  Trainer trainer;
  fs::path path;
};

// A system and a trainer of the same or another structure, to resume into.
struct Fresh {
  explicit Fresh(const ModelConfig& config, const TrainerConfig& training = small_training(2))
      : corpus(small_corpus(12)),
        system(system_of(config, device_of(fast_backend()), DType::f32, 99)),
        trainer(*system.model, corpus, training) {}

  TrainingProgress resume(const fs::path& path, const std::string& sha = corpus_sha) {
    return resume_from_checkpoint(path, system, trainer.optimizer(), sha);
  }

  EncodedCorpus corpus;
  TranslationSystem system;
  Trainer trainer;
};

// Changes a file in place through HDF5's C interface.
template<typename Change>
void edit(const fs::path& path, Change&& change) {
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  REQUIRE(file >= 0);
  change(file);
  REQUIRE(H5Fclose(file) >= 0);
}

void make_dataset(hid_t file, const char* path, std::vector<hsize_t> shape) {
  hsize_t size = 1;
  for (const hsize_t extent : shape) size *= extent;
  const std::vector<float> zeros(size, 0.0F);
  REQUIRE(H5LTmake_dataset_float(file, path, static_cast<int>(shape.size()), shape.data(), zeros.data()) >=
          0);
}

void check_error(const std::optional<Error>& error, ExitCode code, const std::string& part) {
  REQUIRE(error);
  INFO(error->what());
  CHECK(error->code() == code);
  CHECK(contains(error->what(), part));
  CHECK_FALSE(contains(error->what(), "\n"));
}

}  // namespace

TEST_CASE("a checkpoint gives back every parameter bit for bit, with text processing and configuration") {
  for (const ModelConfig& config : trained_models()) {
    for (const DType type : {DType::f32, DType::f64}) {
      const Saved saved(config, type);
      INFO(name_of(config));
      const TranslationSystem loaded = saved.load(type);
      CHECK(parameters_of(*loaded.model) == parameters_of(*saved.system.model));
      CHECK(loaded.config.type == config.type);
      CHECK(loaded.config.hidden_size == config.hidden_size);
      CHECK(loaded.config.dropout == config.dropout);
      CHECK(loaded.text.source_vocabulary == saved.system.text.source_vocabulary);
      CHECK(loaded.text.target_vocabulary == saved.system.text.target_vocabulary);
      CHECK(loaded.text.source_tokenizer.name() == "character");
      CHECK_FALSE(loaded.text.source_tokenizer.options().keep_spaces);
      CHECK(loaded.text.target_tokenizer.name() == "whitespace");
      CHECK(loaded.text.max_length == std::optional<std::size_t>(30));
      CHECK_FALSE(loaded.text.steps);
      CHECK(loaded.config_yaml == "name: small\n");
      CHECK(loaded.checkpoint_sha256.size() == 64);
    }
  }
}

TEST_CASE("every choice of a model's structure survives a checkpoint") {
  ModelConfig config = trained_models()[2];
  config.norm = ModelConfig::Norm::pre;
  config.positions = PositionKind::learned;
  config.max_length = 40;
  config.attention_bias = true;
  config.final_norm = true;
  config.tying = ModelConfig::Tying::all;
  config.masking = ATTN_MASK_BOOK;
  config.feed_forward_dropout = 0.25;
  const ModelConfig loaded = Saved(config).load().config;
  CHECK(loaded.norm == config.norm);
  CHECK(loaded.positions == config.positions);
  CHECK(loaded.max_length == 40);
  CHECK(loaded.attention_bias);
  CHECK(loaded.final_norm);
  CHECK(loaded.tying == config.tying);
  CHECK(loaded.masking == ATTN_MASK_BOOK);
  CHECK(loaded.feed_forward_dropout == 0.25);
}

TEST_CASE("every choice of a recurrent model's structure survives a checkpoint") {
  ModelConfig config = trained_models()[1];
  config.cell = RecurrentCell::lstm;
  config.bidirectional = config.deep_output = true;
  config.scoring = Scoring::general;
  config.tying = ModelConfig::Tying::output;
  config.embedding_dropout = 0.125;
  config.attention_dropout = 0.0;
  const ModelConfig loaded = Saved(config).load().config;
  CHECK(loaded.cell == RecurrentCell::lstm);
  CHECK(loaded.bidirectional);
  CHECK(loaded.deep_output);
  CHECK(loaded.scoring == Scoring::general);
  CHECK(loaded.tying == ModelConfig::Tying::output);
  CHECK(loaded.embedding_dropout == 0.125);
  CHECK(loaded.attention_dropout == std::optional(0.0));
}

TEST_CASE("a checkpoint from before a field of the model loads, with the field's default") {
  for (const ModelConfig& config : trained_models()) {
    const Saved saved(config);
    edit(saved.path, [](hid_t file) {
      for (const char* name : {"cell", "bidirectional", "scoring", "deep_output", "embedding_dropout"})
        REQUIRE(H5Adelete_by_name(file, "/model", name, H5P_DEFAULT) >= 0);
    });
    const TranslationSystem loaded = saved.load();
    CHECK(parameters_of(*loaded.model) == parameters_of(*saved.system.model));
    CHECK(loaded.config.cell == RecurrentCell::gru);
    CHECK_FALSE(loaded.config.attention_dropout);
  }
}

TEST_CASE("resuming gives back moments, counters and progress exactly") {
  for (const ModelConfig& config : trained_models()) {
    Saved saved(config);
    Fresh fresh(config);
    const TrainingProgress progress = fresh.resume(saved.path);
    CHECK(state_of(*fresh.system.model, fresh.trainer.optimizer()) ==
          state_of(*saved.system.model, saved.trainer.optimizer()));
    const TrainingProgress& expected = saved.trainer.progress();
    CHECK(progress.epoch == expected.epoch);
    CHECK(progress.update == 6);
    CHECK(progress.tokens_seen == expected.tokens_seen);
    CHECK(progress.epoch_nats == expected.epoch_nats);
    CHECK(progress.has_best);
    CHECK(progress.best_metric == expected.best_metric);
  }
}

TEST_CASE("a checkpoint without an optimizer translates but does not resume") {
  Saved saved(trained_models()[0]);
  save_checkpoint(saved.path, saved.system, nullptr, {}, {"", 1, corpus_sha});
  CHECK(parameters_of(*saved.load().model) == parameters_of(*saved.system.model));
  Fresh fresh(trained_models()[0]);
  const auto error = error_of([&] { fresh.resume(saved.path); });
  REQUIRE(error);
  CHECK(error->code() == ExitCode::input_data);
  CHECK(contains(error->what(), "no optimizer state"));
}

TEST_CASE("resuming with other data, vocabularies, optimizer or structure is refused and says which") {
  Saved saved(trained_models()[2]);
  const auto refused = [&](Fresh fresh_like, const std::string& sha, const std::string& part) {
    const std::vector<double> before = parameters_of(*fresh_like.system.model);
    const auto error = error_of([&] { fresh_like.resume(saved.path, sha); });
    REQUIRE(error);
    CHECK(error->code() == ExitCode::input_data);
    INFO(error->what());
    CHECK(contains(error->what(), part));
    CHECK(contains(error->what(), "saved.h5"));
    CHECK(parameters_of(*fresh_like.system.model) == before);
  };
  refused(Fresh(trained_models()[2]), "another", "other data");
  TrainerConfig with_sgd = small_training(2);
  with_sgd.optimizer.kind = OptimizerConfig::Kind::sgd;
  refused(Fresh(trained_models()[2], with_sgd), corpus_sha,
          "trained with adam, the configuration asks for sgd");
  ModelConfig other_heads = trained_models()[2];
  other_heads.heads = 4;
  refused(Fresh(other_heads), corpus_sha, "model.heads=2 in the file, model.heads=4 now");
  Fresh other_words(trained_models()[2]);
  other_words.system.text.target_vocabulary = some_vocabulary("x");
  const auto error = error_of([&] { other_words.resume(saved.path); });
  REQUIRE(error);
  CHECK(contains(error->what(), "target vocabulary"));

  ModelConfig other_dropout = trained_models()[2];
  other_dropout.dropout = 0.4;
  Fresh allowed(other_dropout);
  CHECK_NOTHROW(allowed.resume(saved.path));
}

TEST_CASE("missing, extra and misshapen parameters are all listed at once") {
  const Saved saved(trained_models()[0]);
  edit(saved.path, [](hid_t file) {
    REQUIRE(H5Ldelete(file, "/model/encoder/embedding/weight", H5P_DEFAULT) >= 0);
    REQUIRE(H5Ldelete(file, "/model/decoder/dense/bias", H5P_DEFAULT) >= 0);
    REQUIRE(H5Ldelete(file, "/model/decoder/dense/weight", H5P_DEFAULT) >= 0);
    make_dataset(file, "/model/decoder/dense/weight", {5, 16});
    make_dataset(file, "/model/stranger", {2});
  });
  const auto error = saved.load_error();
  check_error(error, ExitCode::input_data, "missing 'encoder.embedding.weight'");
  check_error(error, ExitCode::input_data, "missing 'decoder.dense.bias'");
  check_error(error, ExitCode::input_data, "'decoder.dense.weight' is (5, 16), expected (20, 16)");
  check_error(error, ExitCode::input_data, "unexpected 'stranger'");
}

TEST_CASE("a vocabulary that does not belong to the model is refused by the shapes that differ") {
  Saved saved(trained_models()[0]);
  const std::vector<std::string> words{"one", "two"};
  saved.system.text.source_vocabulary = Vocabulary::from_tokens(words);
  saved.save();
  check_error(saved.load_error(), ExitCode::input_data,
              "'encoder.embedding.weight' is (20, 12), expected (6, 12)");
}

TEST_CASE("a vocabulary that was changed is found by its checksum") {
  const Saved saved(trained_models()[0]);
  edit(saved.path, [](hid_t file) {
    REQUIRE(H5Adelete_by_name(file, "/vocabulary/source", "sha256", H5P_DEFAULT) >= 0);
    REQUIRE(H5LTset_attribute_string(file, "/vocabulary/source", "sha256", "0123") >= 0);
  });
  check_error(saved.load_error(), ExitCode::input_data, "source vocabulary does not match its checksum");
}

TEST_CASE("a moment that is missing or misshapen is named when resuming") {
  const Saved saved(trained_models()[0]);
  edit(saved.path, [](hid_t file) {
    REQUIRE(H5Ldelete(file, "/optimizer/v/decoder/dense/bias", H5P_DEFAULT) >= 0);
    make_dataset(file, "/optimizer/v/decoder/dense/bias", {3});
  });
  CHECK_NOTHROW(saved.load());
  Fresh fresh(trained_models()[0]);
  check_error(error_of([&] { fresh.resume(saved.path); }), ExitCode::input_data,
              "'decoder.dense.bias' is (3,), expected (20,)");
}

TEST_CASE("changed values are found by their checksums") {
  const Saved saved(trained_models()[0]);
  SECTION("a parameter") {
    edit(saved.path, [](hid_t file) {
      REQUIRE(H5Ldelete(file, "/model/decoder/dense/bias", H5P_DEFAULT) >= 0);
      make_dataset(file, "/model/decoder/dense/bias", {20});
    });
    check_error(saved.load_error(), ExitCode::file, "parameters_sha256");
  }
  SECTION("the structure") {
    edit(saved.path, [](hid_t file) {
      const double dropout = 0.2;
      REQUIRE(H5LTset_attribute_double(file, "/model", "dropout", &dropout, 1) >= 0);
    });
    check_error(saved.load_error(), ExitCode::file, "description_sha256");
  }
  SECTION("the progress") {
    edit(saved.path, [](hid_t file) {
      const long long update = 7;
      REQUIRE(H5LTset_attribute_long_long(file, "/trainer", "update", &update, 1) >= 0);
    });
    Fresh fresh(trained_models()[0]);
    check_error(error_of([&] { fresh.resume(saved.path); }), ExitCode::file, "state_sha256");
  }
}

TEST_CASE("a file of another format, a newer version or without its end mark is no checkpoint") {
  const Saved saved(trained_models()[0]);
  SECTION("another format") {
    hdf5::write_atomically(saved.path, [](hdf5::File& file) {
      hdf5::write_header(file, {"attn.attention", 1});
    });
    check_error(saved.load_error(), ExitCode::input_data,
                "has format attn.attention; expected attn.checkpoint");
  }
  SECTION("a newer version") {
    edit(saved.path, [](hid_t file) {
      const int version = 2;
      REQUIRE(H5LTset_attribute_int(file, "/", "format_version", &version, 1) >= 0);
    });
    check_error(saved.load_error(), ExitCode::input_data, "version 2 is newer than this program");
  }
  SECTION("not complete") {
    edit(saved.path, [](hid_t file) { REQUIRE(H5Adelete(file, "complete") >= 0); });
    check_error(saved.load_error(), ExitCode::input_data, "not complete");
  }
  SECTION("no format at all") {
    check_error(
        error_of([] { load_translation_system(ATTN_TEST_DATA "/golden/golden.h5", device_of("reference")); }),
        ExitCode::input_data, "without the attribute 'format'");
  }
  SECTION("text") {
    saved.folder.write("saved.h5", "name: small\n");
    check_error(saved.load_error(), ExitCode::file, "not an HDF5 file");
  }
  SECTION("missing") {
    fs::remove(saved.path);
    check_error(saved.load_error(), ExitCode::file, "saved.h5");
  }
  SECTION("a folder without checkpoints") {
    check_error(error_of([&] { load_translation_system(saved.folder.path(), device_of("reference")); }),
                ExitCode::file, "has no checkpoint");
  }
}

TEST_CASE("a truncated checkpoint is an error that names the file, wherever it ends") {
  const Saved saved(trained_models()[1]);
  const std::string bytes = read_file(saved.path);
  for (int part = 0; part < 20; ++part) {
    saved.folder.write("saved.h5", bytes.substr(0, bytes.size() * static_cast<std::size_t>(part) / 20));
    INFO("the first " << part << " of 20 parts");
    check_error(saved.load_error(), ExitCode::file, "saved.h5");
  }
  saved.folder.write("saved.h5", bytes.substr(0, bytes.size() - 1));
  check_error(saved.load_error(), ExitCode::file, "saved.h5");
}

TEST_CASE("a checkpoint with a flipped byte fails to load or gives the identical model") {
  Saved saved(trained_models()[2]);
  const std::string bytes = read_file(saved.path);
  const std::vector<double> expected = parameters_of(*saved.system.model);
  SplitMix64 random(2);
  std::size_t refused = 0;
  const char* wish = std::getenv("ATTN_TEST_FLIPS");
  const int flips = wish == nullptr ? 50 : std::atoi(wish);
  for (int i = 0; i < flips; ++i) {
    std::string damaged = bytes;
    const std::size_t at = random.below(bytes.size());
    damaged[at] = static_cast<char>(damaged[at] ^ (i % 2 == 0 ? 0xFF : 1 << (i / 2 % 8)));
    saved.folder.write("saved.h5", damaged);
    INFO("byte " << at << " of " << bytes.size());
    Fresh fresh(trained_models()[2]);
    const auto not_loaded = saved.load_error();
    const auto not_resumed = error_of([&] { fresh.resume(saved.path); });
    if (not_loaded || not_resumed) ++refused;
    if (not_loaded) {
      INFO(not_loaded->what());
      CHECK((not_loaded->code() == ExitCode::file || not_loaded->code() == ExitCode::input_data));
    } else {
      CHECK(parameters_of(*saved.load().model) == expected);
    }
    if (not_resumed) {
      INFO(not_resumed->what());
      CHECK((not_resumed->code() == ExitCode::file || not_resumed->code() == ExitCode::input_data));
    } else {
      CHECK(state_of(*fresh.system.model, fresh.trainer.optimizer()) ==
            state_of(*saved.system.model, saved.trainer.optimizer()));
    }
  }
  CHECK(refused > 0);
}

TEST_CASE("a checkpoint that cannot be written leaves the former one") {
  Saved saved(trained_models()[0]);
  const std::string before = read_file(saved.path);
  saved.system.config_yaml = std::string("a\0b", 3);  // a string that HDF5 cannot store, met at the very end
  CHECK(error_of([&] { saved.save(); }));
  CHECK(read_file(saved.path) == before);
  CHECK_FALSE(fs::exists(saved.path.string() + ".part"));
}

TEST_CASE("the latest checkpoint of a run directory is the one with the most updates") {
  const Saved saved(trained_models()[0]);
  const fs::path run = saved.folder.path() / "run";
  CHECK(latest_checkpoint(run).empty());
  fs::create_directories(run / "checkpoints");
  for (const char* name :
       {"update-00000009.h5", "update-00000100.h5", "update-00000020.h5", "update-00000200.h5.part"})
    fs::copy_file(saved.path, run / "checkpoints" / name);
  CHECK(latest_checkpoint(run).filename() == "update-00000100.h5");
  CHECK(parameters_of(*load_translation_system(run, device_of(fast_backend())).model) ==
        parameters_of(*saved.system.model));
  fs::copy_file(saved.path, run / "checkpoints" / "best.h5");
  fs::remove(run / "checkpoints" / "update-00000100.h5");
  CHECK_NOTHROW(load_translation_system(run, device_of(fast_backend())));
}
