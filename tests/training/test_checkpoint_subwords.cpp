#include <hdf5.h>
#include <hdf5_hl.h>

#include <fstream>

#include "attn/core/error.h"
#include "attn/io/hdf5.h"
#include "support/catch.h"
#include "support/error_of.h"
#include "support/text_files.h"
#include "training/training_support.h"

namespace {

using namespace attn;
using namespace attn::test;
namespace fs = std::filesystem;

// A model over the first lines of one column of the bundled corpus.
SentencePieceModel model_of(std::size_t column, std::size_t vocabulary_size) {
  std::ifstream file(ATTN_SOURCE_DIR "/datasets/small-world/train.tsv");
  std::vector<std::string> sentences;
  for (std::string line; sentences.size() < 300 && std::getline(file, line);) {
    const std::size_t tab = line.find('\t');
    sentences.push_back(column == 0 ? line.substr(0, tab) : line.substr(tab + 1));
  }
  return SentencePieceModel::train(sentences,
                                   {.algorithm = SentencePieceOptions::Algorithm::bpe,
                                    .vocabulary_size = vocabulary_size,
                                    .character_coverage = 1.0},
                                   "the corpus");
}

TranslationSystem subword_system(const SentencePieceModel& source, const SentencePieceModel& target) {
  const ModelConfig config = trained_models()[2];
  TranslationSystem system = system_of(config, device_of(fast_backend()));
  system.text.source_tokenizer = Tokenizer::with_model(source);
  system.text.target_tokenizer = Tokenizer::with_model(target);
  system.text.source_vocabulary = source.vocabulary();
  system.text.target_vocabulary = target.vocabulary();
  system.model = make_translation_model(config,
                                        {static_cast<std::int64_t>(system.text.source_vocabulary.size()),
                                         static_cast<std::int64_t>(system.text.target_vocabulary.size())},
                                        device_of(fast_backend()), DType::f32, 3);
  return system;
}

// A checkpoint of an untrained system.
struct Saved {
  Saved(const SentencePieceModel& source, const SentencePieceModel& target)
      : path(folder.path() / "saved.h5"), system(subword_system(source, target)) {
    save_checkpoint(path, system, nullptr, {}, {"attn-train x.yaml", 5, "0123456789abcdef"});
  }
  TranslationSystem load() const { return load_translation_system(path, device_of(fast_backend())); }

  TemporaryFolder folder;
  fs::path path;
  TranslationSystem system;
};

void check_error(const std::optional<Error>& error, ExitCode code, const std::string& part) {
  REQUIRE(error);
  INFO(error->what());
  CHECK(error->code() == code);
  CHECK(contains(error->what(), part));
}

template<typename Change>
void edit(const fs::path& path, Change&& change) {
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  REQUIRE(file >= 0);
  change(file);
  REQUIRE(H5Fclose(file) >= 0);
}

void set_text(hid_t file, const char* dataset, const char* attribute, const std::string& value) {
  REQUIRE(H5Adelete_by_name(file, dataset, attribute, H5P_DEFAULT) >= 0);
  REQUIRE(H5LTset_attribute_string(file, dataset, attribute, value.c_str()) >= 0);
}

}  // namespace

TEST_CASE("a checkpoint holds the SentencePiece models of its tokenizers") {
  const SentencePieceModel source = model_of(0, 90), target = model_of(1, 100);
  const TranslationSystem loaded = Saved(source, target).load();
  CHECK(loaded.text.source_tokenizer.name() == "sentencepiece");
  CHECK(loaded.text.source_tokenizer.resource() == source.bytes());
  CHECK(loaded.text.target_tokenizer.resource() == target.bytes());
  CHECK(loaded.text.source_vocabulary.size() == 90);
  CHECK(loaded.text.target_vocabulary == target.vocabulary());
  const std::string text = "Elle ne danse pas.";
  CHECK(loaded.text.target_tokenizer.tokenize_with_spans(text) == target.encode(text));
}

TEST_CASE("a model that both sides share is in a checkpoint once") {
  const SentencePieceModel model = model_of(0, 90);
  const Saved saved(model, model);
  const hdf5::File file = hdf5::File::open(saved.path);
  CHECK(file.exists("/vocabulary/source_subwords"));
  CHECK_FALSE(file.exists("/vocabulary/target_subwords"));
  CHECK(saved.load().text.target_tokenizer.resource() == model.bytes());
}

TEST_CASE("a checkpoint whose SentencePiece model is damaged, missing or another's is refused") {
  const Saved saved(model_of(0, 90), model_of(1, 100));
  const auto load_error = [&] { return error_of([&] { saved.load(); }); };
  SECTION("another checksum") {
    edit(saved.path, [](hid_t file) { set_text(file, "/vocabulary/source_subwords", "sha256", "0123"); });
    check_error(load_error(), ExitCode::input_data, "the source subwords do not match their checksum");
  }
  SECTION("the model of the other side") {
    edit(saved.path,
         [](hid_t file) { set_text(file, "/vocabulary/source", "subwords", "/vocabulary/target_subwords"); });
    check_error(load_error(), ExitCode::input_data,
                "the SentencePiece model of the source side has another vocabulary");
  }
  SECTION("none") {
    edit(saved.path, [](hid_t file) {
      REQUIRE(H5Adelete_by_name(file, "/vocabulary/source", "subwords", H5P_DEFAULT) >= 0);
    });
    check_error(load_error(), ExitCode::input_data, "(source subwords) is empty");
  }
}

TEST_CASE("resuming with another SentencePiece model is an error that says so") {
  const SentencePieceModel source = model_of(0, 90), target = model_of(1, 100);
  const Saved saved(source, target);
  TranslationSystem other = subword_system(model_of(0, 80), target);
  EncodedCorpus corpus = small_corpus(8);
  Trainer trainer(*other.model, corpus, small_training(1));
  check_error(
      error_of([&] { resume_from_checkpoint(saved.path, other, trainer.optimizer(), "another corpus"); }),
      ExitCode::input_data, "its source vocabulary is not the one that the SentencePiece model has now");
}

TEST_CASE("codes of byte pair encoding are in the checkpoint too") {
  TranslationSystem system = system_of(trained_models()[2], device_of(fast_backend()));
  const std::string codes = "#version: 0.2\nl o\nlo w</w>\n";
  system.text.source_tokenizer = Tokenizer::applying(BpeCodes::from_bytes(codes, "codes"));
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "saved.h5";
  save_checkpoint(path, system, nullptr, {}, {"attn-train x.yaml", 5, "0123456789abcdef"});
  const TranslationSystem loaded = load_translation_system(path, device_of(fast_backend()));
  CHECK(loaded.text.source_tokenizer.name() == "bpe");
  CHECK(loaded.text.source_tokenizer.resource() == codes);
}
