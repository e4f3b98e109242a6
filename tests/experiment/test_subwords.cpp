#include <filesystem>
#include <string>

#include "attn/experiment/data.h"
#include "support/catch.h"

using namespace attn;

namespace {

DataConfig subword_config() {
  DataConfig config;
  config.train.pairs = std::filesystem::path(ATTN_SOURCE_DIR) / "datasets/small-world/train.tsv";
  config.limit = 600;
  config.source_tokenizer = config.target_tokenizer = "sentencepiece";
  config.subwords.training.algorithm = SentencePieceOptions::Algorithm::bpe;
  config.subwords.training.vocabulary_size = 150;
  config.subwords.training.character_coverage = 1.0;
  return config;
}

std::string source_model(const DataConfig& config, std::uint64_t seed) {
  return std::string(prepare_data(config, seed).text.source_tokenizer.resource());
}

}  // namespace

TEST_CASE("subwords are trained for each side, or joint with a shared vocabulary") {
  DataConfig config = subword_config();
  const PreparedData separate = prepare_data(config);
  CHECK(separate.text.source_vocabulary.size() == 150);
  CHECK(separate.text.target_vocabulary.size() == 150);
  CHECK(separate.text.source_tokenizer.resource() != separate.text.target_tokenizer.resource());
  CHECK(separate.train.encoded.source().unknown == 0);
  CHECK(separate.train.encoded.target().unknown == 0);

  config.shared_vocabulary = true;
  const PreparedData joint = prepare_data(config);
  CHECK(joint.text.source_vocabulary == joint.text.target_vocabulary);
  CHECK(joint.text.source_tokenizer.resource() == joint.text.target_tokenizer.resource());
  CHECK(joint.text.source_tokenizer.resource() != separate.text.source_tokenizer.resource());
}

TEST_CASE("one side may have subwords and the other words") {
  DataConfig config = subword_config();
  config.source_tokenizer = "word";
  const PreparedData data = prepare_data(config);
  CHECK(data.text.source_vocabulary.id("the") >= Vocabulary::special_count);
  CHECK(data.text.target_vocabulary.size() == 150);
}

TEST_CASE("the seed draws the sentences that subwords are trained on") {
  DataConfig config = subword_config();
  CHECK(source_model(config, 1) == source_model(config, 2));
  config.subwords.sentences = 200;
  CHECK(source_model(config, 1) == source_model(config, 1));
  CHECK(source_model(config, 1) != source_model(config, 2));
}

TEST_CASE("the reference of a translation from subwords is the text as it is written") {
  const PreparedData data = prepare_data(subword_config());
  CHECK(normalised_target(data.text, "Elle ne danse PAS ☃ !") == "Elle ne danse PAS ☃ !");
}
