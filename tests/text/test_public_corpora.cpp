#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attn/text/batches.h"
#include "attn/text/corpus.h"
#include "attn/text/tokenizer.h"
#include "attn/text/vocabulary.h"
#include "support/catch.h"
#include "support/error_of.h"

using namespace attn;

namespace {

using Sentences = std::vector<std::vector<std::string>>;

/// A file of the folder that the environment variable ATTN_PUBLIC_DATA names, or nothing, after a warning.
std::optional<std::filesystem::path> public_file(const std::string& name) {
  const char* folder = std::getenv("ATTN_PUBLIC_DATA");
  if (folder == nullptr) {
    WARN("skipped: set ATTN_PUBLIC_DATA to the folder that holds " + name);
    return std::nullopt;
  }
  const std::filesystem::path path = std::filesystem::path(folder) / name;
  if (!std::filesystem::exists(path)) {
    WARN("skipped: ATTN_PUBLIC_DATA has no " + name);
    return std::nullopt;
  }
  return path;
}

struct TokenizedCorpus {
  Sentences source;
  Sentences target;
  std::vector<std::size_t> lines;
};

TokenizedCorpus tokenize(const Corpus& corpus, const Tokenizer& tokenizer) {
  TokenizedCorpus tokenized;
  for (const SentencePair& pair : corpus.pairs) {
    tokenized.source.push_back(tokenizer.tokenize(pair.source));
    tokenized.target.push_back(tokenizer.tokenize(pair.target));
    tokenized.lines.push_back(pair.line);
  }
  return tokenized;
}

}  // namespace

TEST_CASE("the book's 601 rows give its vocabularies and target tokens") {
  const auto path = public_file("tatoeba-fra-eng/fra.txt");
  if (!path) return;
  const TokenizedCorpus corpus = tokenize(read_tsv(*path, {.limit = 601}), Tokenizer::named("word"));
  REQUIRE(corpus.source.size() == 601);
  const Vocabulary source = Vocabulary::build(corpus.source, 2);
  const Vocabulary target = Vocabulary::build(corpus.target, 2);
  CHECK(source.size() == 184);
  CHECK(target.size() == 201);
  const EncodedCorpus encoded(corpus.source, corpus.target, corpus.lines, source, target, {.steps = 10});
  CHECK(encoded.target_tokens() == 2541);
}

TEST_CASE("the whole English-French file gives the book's vocabularies, but for its empty token") {
  const auto path = public_file("tatoeba-fra-eng/fra.txt");
  if (!path) return;
  const TokenizedCorpus corpus = tokenize(read_tsv(*path), Tokenizer::named("word"));
  CHECK(corpus.source.size() == 167130);
  CHECK(Vocabulary::build(corpus.source, 2).size() == 10012);
  CHECK(Vocabulary::build(corpus.target, 2).size() == 17850);
}

TEST_CASE("three columns of a public file are an error unless allowed") {
  const auto path = public_file("tatoeba-cmn-eng/cmn-2020-three-columns.txt");
  if (!path) return;
  CHECK(test::error_of([&] { read_tsv(*path); }));
  CHECK(read_tsv(*path, {.allow_extra_columns = true}).pairs.size() == 23444);
}

TEST_CASE("a public corpus with control characters and an empty line is read line for line") {
  const auto source = public_file("ende-dirty-10k/src-train.txt");
  const auto target = public_file("ende-dirty-10k/tgt-train.txt");
  if (!source || !target) return;
  const Corpus corpus = read_parallel(*source, *target);
  CHECK(corpus.reports[0].lines == 10000);
  CHECK(corpus.pairs.size() + corpus.blank_lines.count + corpus.one_sided_lines.count == 10000);
  CHECK(corpus.one_sided_lines.count + corpus.blank_lines.count > 0);
}
