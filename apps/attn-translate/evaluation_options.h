#pragma once
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "attn/evaluation/bleu.h"
#include "attn/evaluation/chrf.h"
#include "attn/evaluation/ter.h"

namespace attn::translate {

/// The part of the command line that is about scores against references.
struct EvaluationOptions {
  std::string hypotheses;               ///< --evaluate: translations that exist already
  std::vector<std::string> references;  ///< files, each with a line for each hypothesis
  std::string compare_with;             ///< translations of another system
  std::vector<std::string> metrics{"bleu", "chrf", "chrf++", "ter"};
  bool confidence = false;
  Bootstrap bootstrap;
  std::string bleu_tokenizer{name_of(BleuTokenizer::mteval_13a)};
  std::string bleu_smoothing{name_of(BleuSmoothing::exponential)};
  BleuOptions bleu;
  ChrfOptions chrf;
  TerOptions ter;

  bool wanted() const noexcept { return !references.empty() || !hypotheses.empty(); }
  /// Whether scores are computed again for bootstrap samples.
  bool resamples() const noexcept { return confidence || !compare_with.empty(); }
};

void declare(CLI::App& app, EvaluationOptions& options);

/// Throws Error(usage) for options that do not go together. `input`: the source text of a model that
/// translates, or nothing.
void check(const EvaluationOptions& options, const std::string& input);

/// The metrics in the order asked for. Throws Error(usage) for settings that a metric refuses.
std::vector<std::unique_ptr<const Metric>> metrics_of(const EvaluationOptions& options);

}  // namespace attn::translate
