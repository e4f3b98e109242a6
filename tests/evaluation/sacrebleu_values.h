#pragma once
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "attn/evaluation/bleu.h"
#include "attn/evaluation/chrf.h"
#include "attn/evaluation/ter.h"

namespace attn::test {

using Json = nlohmann::json;

/// What sacrebleu said, as make_sacrebleu_values.py wrote it.
const Json& sacrebleu_values();

/// A corpus of the values with two systems.
struct RecordedCorpus {
  std::vector<std::string> hypotheses, baseline;
  std::vector<std::vector<std::string>> references;
};

RecordedCorpus recorded_corpus(const std::string& name);

BleuTokenizer bleu_tokenizer(const std::string& name);
TerOptions ter_options(const Json& options);

/// The metric that a row of the values is about.
std::unique_ptr<const Metric> metric_of(const Json& row);

/// sacrebleu's signature without its version.
std::string without_version(const std::string& signature);

}  // namespace attn::test
