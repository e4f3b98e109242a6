// Word alignments of a training corpus, from their file to links between tokens.
#include <algorithm>

#include "attn/experiment/guided_data.h"
#include "support/catch.h"
#include "support/error_of.h"
#include "support/text_files.h"

namespace {

using namespace attn;
using namespace attn::test;

using Links = std::vector<std::pair<int, int>>;

// Three lines, of which the second is blank on both sides.
constexpr const char* source_text = "ab c\n\nd efg\n";
constexpr const char* target_text = "x yz\n\nw\n";

class Files {
 public:
  explicit Files(const std::string& alignments, AlignmentUnit unit = AlignmentUnit::word) {
    config_.train.source = folder_.write("train.src", source_text);
    config_.train.target = folder_.write("train.tgt", target_text);
    config_.train_alignments = folder_.write("train.align", alignments);
    config_.alignment_unit = unit;
    text_.source_tokenizer = Tokenizer::named("character", {false});
    text_.target_tokenizer = Tokenizer::named("character", {false});
  }

  std::map<std::size_t, std::vector<GuidedLink>> read() const {
    const Corpus corpus = read_parallel(
        config_.train.source, config_.train.target,
        config_.limit > 0 ? std::optional(static_cast<std::size_t>(config_.limit)) : std::nullopt);
    return read_training_links(config_, corpus, text_);
  }
  std::string message() const {
    const auto error = error_of([&] { read(); });
    REQUIRE(error);
    CHECK(error->code() == ExitCode::input_data);
    return error->what();
  }
  DataConfig& config() { return config_; }

 private:
  TemporaryFolder folder_;
  DataConfig config_;
  TextProcessing text_;
};

Links of_line(const std::map<std::size_t, std::vector<GuidedLink>>& links, std::size_t line) {
  Links result;
  const auto found = links.find(line);
  if (found == links.end()) return result;
  for (const GuidedLink& link : found->second) result.emplace_back(link.source, link.target);
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace

TEST_CASE("every token of a word has the links of the word, and blank lines keep step") {
  const auto links = Files("0-0 1-1\n\n1-0\n").read();
  // Characters: a b c of the words "ab", "c" and x y z of "x", "yz".
  CHECK(of_line(links, 1) == Links{{0, 0}, {1, 0}, {2, 1}, {2, 2}});
  CHECK(of_line(links, 2).empty());
  CHECK(of_line(links, 3) == Links{{1, 0}, {2, 0}, {3, 0}});
}

TEST_CASE("alignments of tokens are taken as they are") {
  const auto links = Files("2-2\n\n0-0\n", AlignmentUnit::token).read();
  CHECK(of_line(links, 1) == Links{{2, 2}});
  CHECK(of_line(links, 3) == Links{{0, 0}});
}

TEST_CASE("a wrong line of alignments is an error that names file and line") {
  CHECK(contains(Files("0-0\n\n0:0\n").message(), "train.align:3"));
  CHECK(contains(Files("0-0\n\n0-1\n").message(), "train.align:3"));
  CHECK(contains(Files("2-0\n\n\n").message(), "train.align:1"));
  CHECK(contains(Files("0-0\nx\n0-0\n").message(), "train.align:2"));
  CHECK(contains(Files("3-0\n\n\n", AlignmentUnit::token).message(), "train.align:1"));
}

TEST_CASE("alignments of another length than the corpus are an error that names both counts") {
  const std::string few = Files("0-0\n\n").message();
  CHECK(contains(few, "train.align has only 2 lines"));
  CHECK(contains(few, "has 3"));
  CHECK(contains(Files("0-0\n\n0-0\n0-0\n").message(), "more than 3 lines"));
  Files limited("0-0\n\n0-0\n");
  limited.config().limit = 1;
  CHECK(of_line(limited.read(), 1) == Links{{0, 0}, {1, 0}});
}

TEST_CASE("guidance is made for a weight above zero only") {
  ExperimentConfig config;
  PreparedData data;
  CHECK(guidance_of(config, data) == nullptr);
  config.data.train_alignments = "not-read.txt";
  config.training.guided_alignment.weight = 0.0;
  CHECK(guidance_of(config, data) == nullptr);
}
