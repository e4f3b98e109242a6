#include <fmt/format.h>

#include "attn/evaluation/bootstrap.h"
#include "evaluation/sacrebleu_values.h"
#include "support/catch.h"
#include "support/error_of.h"

using namespace attn;
using test::contains;
using test::error_of;
using test::Json;
using test::metric_of;
using test::recorded_corpus;
using test::sacrebleu_values;

namespace {

void check_close(double found, const Json& expected) {
  CHECK(found == Approx(expected.get<double>()).epsilon(1e-9).margin(1e-12));
}

void check_confidence(const Confidence& found, const Json& expected) {
  check_close(found.mean, expected["mean"]);
  check_close(found.half_width, expected["half_width"]);
}

std::string described(const Json& row) {
  return row["corpus"].get<std::string>() + ": " + row["metric"].get<std::string>() + row["options"].dump();
}

}  // namespace

TEST_CASE("BLEU's tokenizers split every recorded line as sacrebleu does") {
  for (const Json& row : sacrebleu_values()["tokens"]) {
    for (const auto& [name, expected] : row["bleu"].items()) {
      INFO(name << ": " << row["text"]);
      CHECK(bleu_tokens(row["text"].get<std::string>(), test::bleu_tokenizer(name)) ==
            expected.get<std::vector<std::string>>());
    }
  }
}

TEST_CASE("TER's tokenizer splits every recorded line as sacrebleu does") {
  const Json& options = sacrebleu_values()["ter_options"];
  for (const Json& row : sacrebleu_values()["tokens"]) {
    for (std::size_t i = 0; i < options.size(); ++i) {
      INFO(options[i] << ": " << row["text"]);
      CHECK(ter_tokens(row["text"].get<std::string>(), test::ter_options(options[i])) ==
            row["ter"][i].get<std::vector<std::string>>());
    }
  }
}

TEST_CASE("BLEU, chrF and TER of every recorded corpus equal sacrebleu's, with signature and details") {
  for (const Json& row : sacrebleu_values()["scores"]) {
    INFO(described(row));
    const auto corpus = recorded_corpus(row["corpus"]);
    const auto metric = metric_of(row);
    const auto totals = totals_of(segment_statistics(*metric, corpus.hypotheses, corpus.references));
    check_close(metric->score(totals), row["score"]);
    CHECK(fmt::format("{:.2f}", metric->score(totals)) == row["printed"].get<std::string>());
    CHECK(metric->name() == row["name"].get<std::string>());
    CHECK(metric->details(totals) == row["verbose"].get<std::string>());
    CHECK(contains(signature_of(*metric, corpus.references),
                   test::without_version(row["signature"]) + "|impl:attn|"));
  }
}

TEST_CASE("confidence intervals of one system equal sacrebleu's") {
  for (const Json& row : sacrebleu_values()["confidence"]) {
    INFO(described(row) << " with " << row["samples"] << " samples");
    const auto corpus = recorded_corpus(row["corpus"]);
    const auto metric = metric_of(row);
    const Bootstrap bootstrap{row["samples"].get<std::size_t>(), 12345};
    const auto statistics = segment_statistics(*metric, corpus.hypotheses, corpus.references);
    check_confidence(confidence_interval(*metric, statistics, bootstrap), row);
    CHECK(contains(signature_of(*metric, corpus.references, bootstrap),
                   test::without_version(row["signature"]) + "|"));
  }
}

TEST_CASE("the paired bootstrap gives the intervals and p-values of sacrebleu") {
  for (const Json& row : sacrebleu_values()["paired"]) {
    INFO(described(row) << " with " << row["samples"] << " samples");
    const auto corpus = recorded_corpus(row["corpus"]);
    const auto metric = metric_of(row);
    const auto baseline = segment_statistics(*metric, corpus.baseline, corpus.references);
    const auto system = segment_statistics(*metric, corpus.hypotheses, corpus.references);
    const PairedComparison found =
        paired_bootstrap(*metric, baseline, system, {row["samples"].get<std::size_t>(), 12345});
    check_confidence(found.baseline, row["baseline"]);
    check_confidence(found.system, row["system"]);
    CHECK(found.p_value == row["p_value"].get<double>());
  }
}
