#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "attn/core/sha256.h"
#include "attn/experiment/data.h"
#include "attn/experiment/encoded_file.h"
#include "attn/experiment/setup.h"
#include "attn/io/atomic_file.h"
#include "support/catch.h"
#include "support/error_of.h"
#include "support/text_files.h"

using namespace attn;
using test::contains;
using test::error_of;
using test::TemporaryFolder;
namespace fs = std::filesystem;

namespace {

const fs::path small_world = fs::path(ATTN_SOURCE_DIR) / "datasets/small-world";

DataConfig small_config() {
  DataConfig config;
  config.train.pairs = small_world / "train.tsv";
  config.valid.pairs = small_world / "valid.tsv";
  config.limit = 400;
  config.min_frequency = 2;
  config.max_length = 9;
  return config;
}

bool equal(const Batch& a, const Batch& b) {
  return a.source == b.source && a.labels == b.labels && a.decoder_input == b.decoder_input &&
         a.lines == b.lines && a.source_valid_lengths == b.source_valid_lengths &&
         a.target_valid_lengths == b.target_valid_lengths && a.target_tokens == b.target_tokens;
}

void check_equal(const PreparedData& a, const PreparedData& b) {
  CHECK(a.sha256 == b.sha256);
  CHECK(a.text.source_vocabulary == b.text.source_vocabulary);
  CHECK(a.text.target_vocabulary == b.text.target_vocabulary);
  CHECK(a.text.source_tokenizer.resource() == b.text.source_tokenizer.resource());
  CHECK(lint_json(a.lint) == lint_json(b.lint));
  CHECK(a.train.encoded.target_tokens() == b.train.encoded.target_tokens());
  CHECK(a.train.encoded.source().unknown == b.train.encoded.source().unknown);
  const BatchOptions options{.batch_tokens = 300, .sort_by_length = true};
  const BatchPlan one = BatchSampler(a.train.encoded, options, 5).epoch(3),
                  other = BatchSampler(b.train.encoded, options, 5).epoch(3);
  REQUIRE(one.size() == other.size());
  for (std::size_t k = 0; k < one.size(); ++k) CHECK(equal(one.batch(k), other.batch(k)));
}

std::vector<fs::path> files_of(const fs::path& folder, const std::string& extension) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == extension) files.push_back(entry.path());
  }
  return files;
}

void flip_byte(const fs::path& file, std::size_t place) {
  std::string bytes = read_file(file);
  bytes.at(place) = static_cast<char>(bytes[place] ^ 1);
  std::ofstream(file, std::ios::binary) << bytes;
}

DataConfig written(const TemporaryFolder& folder, const std::string& text) {
  DataConfig config;
  config.source_tokenizer = config.target_tokenizer = "whitespace";
  config.train.pairs = folder.write("train.tsv", text);
  return config;
}

}  // namespace

TEST_CASE(
    "a corpus on disk gives the batches of one in memory, bit for bit, when made and when found again") {
  const TemporaryFolder folder;
  DataConfig config = small_config();
  SECTION("words") {}
  SECTION("a shared vocabulary and pairs left out") {
    config.shared_vocabulary = true;
    config.long_lines = DataConfig::LongLines::skip;
  }
  SECTION("subwords from a sample") {
    config.min_frequency = 1;
    config.source_tokenizer = config.target_tokenizer = "sentencepiece";
    config.subwords.training.vocabulary_size = 120;
    config.subwords.training.algorithm = SentencePieceOptions::Algorithm::bpe;
    config.subwords.sentences = 200;
  }
  const PreparedData memory = prepare_data(config, 3);
  config.streaming = true;
  config.cache = folder.path() / "cache";
  check_equal(memory, prepare_data(config, 3));
  REQUIRE(files_of(config.cache, ".ids").size() == 1);
  const auto made = fs::last_write_time(files_of(config.cache, ".ids").front());
  const PreparedData again = prepare_data(config, 3);
  check_equal(memory, again);
  CHECK(again.train.corpus.pairs.empty());
  CHECK_FALSE(again.train.empty());
  CHECK(fs::last_write_time(files_of(config.cache, ".ids").front()) == made);
}

TEST_CASE("the digest of training pairs is over their ids, sources before targets, a line each") {
  const TemporaryFolder folder;
  DataConfig config = written(folder, "a b\tc\nb\td c\n");
  config.max_length = 3;
  // b, a and c, d in the order of their frequency.
  CHECK(prepare_data(config).sha256 == sha256_hex("5 4 3 \n4 3 \n4 3 \n5 4 3 \n"));
}

TEST_CASE("a corpus that changed, or another setting, is encoded anew") {
  const TemporaryFolder folder;
  DataConfig config = written(folder, "a b\tc\nd\te f\n");
  config.streaming = true;
  config.cache = folder.path() / "cache";
  CHECK(prepare_data(config).train.encoded.size() == 2);
  folder.write("train.tsv", "a b\tc\nd\te f\ng\th\n");
  CHECK(prepare_data(config).train.encoded.size() == 3);
  config.max_length = 2;
  CHECK(prepare_data(config).train.encoded.source().cropped_lines.count == 1);
  CHECK(files_of(config.cache, ".ids").size() == 3);
}

TEST_CASE("a damaged entry of the cache is made again") {
  const TemporaryFolder folder;
  DataConfig config = small_config();
  const std::string sha256 = prepare_data(config).sha256;
  config.streaming = true;
  config.cache = folder.path() / "cache";
  prepare_data(config);
  const fs::path ids = files_of(config.cache, ".ids").front(),
                 facts = files_of(config.cache, ".facts").front();
  SECTION("cut") {
    fs::resize_file(ids, fs::file_size(ids) / 2);
  }
  SECTION("a bit of the index") {
    flip_byte(ids, fs::file_size(ids) - 100);
  }
  SECTION("a bit of the facts") {
    flip_byte(facts, 30);
  }
  SECTION("facts without ids") {
    fs::remove(ids);
  }
  SECTION("ids without facts") {
    fs::remove(facts);
  }
  CHECK(prepare_data(config).sha256 == sha256);
  CHECK(prepare_data(config).sha256 == sha256);
}

TEST_CASE("a damaged record is an error that names the file, not other ids") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "pairs.ids";
  {
    EncodedFileWriter writer(path);
    writer.add(std::vector<std::int32_t>{4, 5, 3}, std::vector<std::int32_t>{6, 3}, 7);
    writer.add(std::vector<std::int32_t>{3}, std::vector<std::int32_t>{8, 3}, 9);
    writer.commit();
  }
  std::vector<std::int32_t> source(1), target(2);
  CHECK(EncodedFile(path).read(1, source, target) == 9);
  CHECK(target == std::vector<std::int32_t>{8, 3});
  CHECK(EncodedFile(path).lengths()[0].source == 3);
  flip_byte(path, 16 + 12 + 4);  // the second id of the first pair
  const EncodedFile file(path);
  CHECK(file.read(1, source, target) == 9);
  source.resize(3);
  const auto error = error_of([&] { file.read(0, source, target); });
  REQUIRE(error);
  CHECK(error->code() == ExitCode::input_data);
  CHECK(contains(error->what(), path.string()));
  CHECK(error_of([&] {
    EncodedFile(folder.write("text",
                             "this is no file of ids, whatever its size may be"
                             ", and it is longer than head and trailer"
                             " of one would be together"));
  }));
}

TEST_CASE("training pairs beyond the limit can be left out, held-out ones are cropped") {
  const TemporaryFolder folder;
  DataConfig config = written(folder, "a b\tc\na b c d\tc\nd\te f g h\nx\ty\n");
  config.valid.pairs = folder.write("valid.tsv", "a b c d\tc\n");
  config.max_length = 4;
  CHECK(prepare_data(config).train.encoded.size() == 4);
  config.long_lines = DataConfig::LongLines::skip;
  const PreparedData data = prepare_data(config);
  REQUIRE(data.train.encoded.size() == 2);
  CHECK(data.train.encoded.line(1) == 4);
  REQUIRE(data.train.corpus.pairs.size() == 2);
  CHECK(data.train.corpus.pairs[1].source == "x");
  CHECK(data.train.encoded.source().cropped_lines.count == 0);
  CHECK(data.valid.encoded.size() == 1);
  CHECK(data.valid.encoded.source().cropped_lines.count == 1);
  const auto finding = std::find_if(data.lint.findings.begin(), data.lint.findings.end(),
                                    [](const LintFinding& f) { return f.check == "too-long"; });
  REQUIRE(finding != data.lint.findings.end());
  CHECK(finding->lines == std::vector<std::size_t>{2, 3});
}

TEST_CASE("a corpus of which every pair is left out is an error that names limit and shortest line") {
  const TemporaryFolder folder;
  DataConfig config = written(folder, "a b c d e\tc\na b c\tc d e f\nd\te f g h i\n");
  config.max_length = 3;
  config.long_lines = DataConfig::LongLines::skip;
  const auto error = error_of([&] { prepare_data(config); });
  REQUIRE(error);
  CHECK(error->code() == ExitCode::input_data);
  CHECK(contains(error->what(), "all 3 pairs"));
  CHECK(contains(error->what(), "data.max_length 3"));
  CHECK(contains(error->what(), "line 2, has 5 tokens"));
}

TEST_CASE("a sentence beyond a table of positions is an error before the first step") {
  const TemporaryFolder folder;
  DataConfig config = written(folder, "a b\tc\na b c\tc\n");
  CHECK_FALSE(error_of([&] { prepare_data(config, 1, 4); }));
  const auto error = error_of([&] { prepare_data(config, 1, 3); });
  REQUIRE(error);
  CHECK(error->code() == ExitCode::input_data);
  CHECK(contains(error->what(), "line 2 of "));
  CHECK(contains(error->what(), "model.max_length to 4"));
  config.max_length = 3;
  CHECK_FALSE(error_of([&] { prepare_data(config, 1, 3); }));
  config.valid.pairs = folder.write("valid.tsv", "a b c d e\tc\n");
  config.max_length = 0;
  CHECK(contains(error_of([&] { prepare_data(config, 1, 4); })->what(),
                 "line 1 of '" + config.valid.pairs.string()));
}

TEST_CASE("a vocabulary of subwords that the corpus does not allow is an error with the possible size") {
  const TemporaryFolder folder;
  DataConfig config = written(folder, "a b a b\tc d\nab ab\tcd cd\n");
  config.source_tokenizer = config.target_tokenizer = "sentencepiece";
  config.subwords.training.vocabulary_size = 5000;
  const auto error = error_of([&] { prepare_data(config); });
  REQUIRE(error);
  CHECK(error->code() == ExitCode::config);
  CHECK(contains(error->what(), "set subwords.vocabulary_size to "));
}

TEST_CASE("lines of four columns, and more sources than targets, are errors with a remedy") {
  const TemporaryFolder folder;
  DataConfig config = written(folder, "a\tb\tc\td\n");
  const auto columns = error_of([&] { prepare_data(config); });
  REQUIRE(columns);
  CHECK(columns->code() == ExitCode::input_data);
  CHECK(contains(columns->what(), "train.tsv:1: "));
  CHECK(contains(columns->what(), "found 4"));
  CHECK(contains(columns->what(), "data.allow_extra_columns"));
  config.train = {{}, folder.write("source", "a\nb\nc\n"), folder.write("target", "d\ne\n")};
  const auto counts = error_of([&] { prepare_data(config); });
  REQUIRE(counts);
  CHECK(counts->code() == ExitCode::input_data);
  CHECK(contains(counts->what(), "source' has 3 lines"));
  CHECK(contains(counts->what(), "target' has 2"));
}
