#include "evaluation/sacrebleu_values.h"

#include <fstream>
#include <stdexcept>

namespace attn::test {
namespace {

BleuSmoothing smoothing(const std::string& name) {
  for (const auto candidate : {BleuSmoothing::exponential, BleuSmoothing::floor, BleuSmoothing::add_k}) {
    if (name == name_of(candidate)) return candidate;
  }
  return BleuSmoothing::none;
}

BleuOptions bleu_options(const Json& options) {
  BleuOptions bleu;
  bleu.tokenizer = bleu_tokenizer(options.value("tokenize", "13a"));
  bleu.smoothing = smoothing(options.value("smooth_method", "exp"));
  if (options.contains("smooth_value")) bleu.smoothing_value = options["smooth_value"].get<double>();
  bleu.lowercase = options.value("lowercase", false);
  bleu.effective_order = options.value("effective_order", false);
  return bleu;
}

ChrfOptions chrf_options(const Json& options) {
  return {options.value("char_order", std::size_t{6}), options.value("word_order", std::size_t{0}),
          options.value("beta", std::size_t{2}), options.value("lowercase", false),
          options.value("whitespace", false)};
}

}  // namespace

const Json& sacrebleu_values() {
  static const Json values =
      Json::parse(std::ifstream(std::string(ATTN_TEST_DATA) + "/evaluation/sacrebleu_values.json"));
  return values;
}

RecordedCorpus recorded_corpus(const std::string& name) {
  for (const Json& corpus : sacrebleu_values()["corpora"]) {
    if (corpus["name"] != name) continue;
    RecordedCorpus found;
    corpus["hypotheses"].get_to(found.hypotheses);
    corpus["baseline"].get_to(found.baseline);
    corpus["references"].get_to(found.references);
    return found;
  }
  throw std::runtime_error("no corpus " + name);
}

BleuTokenizer bleu_tokenizer(const std::string& name) {
  for (const auto candidate : {BleuTokenizer::mteval_13a, BleuTokenizer::international,
                               BleuTokenizer::character, BleuTokenizer::chinese}) {
    if (name == name_of(candidate)) return candidate;
  }
  return BleuTokenizer::none;
}

TerOptions ter_options(const Json& options) {
  const auto flag = [&](const char* name) { return options.value(name, false); };
  return {flag("normalized"), flag("no_punct"), flag("asian_support"), flag("case_sensitive")};
}

std::unique_ptr<const Metric> metric_of(const Json& row) {
  const Json& options = row["options"];
  if (row["metric"] == "bleu") return bleu_metric(bleu_options(options));
  if (row["metric"] == "chrf") return chrf_metric(chrf_options(options));
  return ter_metric(ter_options(options));
}

std::string without_version(const std::string& signature) {
  return signature.substr(0, signature.find("|version:"));
}

}  // namespace attn::test
