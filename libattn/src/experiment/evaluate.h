#pragma once
// Losses and translations of a held-out set, for validation and for the report.
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attn/experiment/training_run.h"

namespace attn {

/// Translations of sources, in order; `max_length` 0: as long as the data suggests. Where memory is short
/// fewer are translated at once; a source that does not fit on its own has an empty translation.
std::vector<std::string> translate_all(const TranslationSystem& system, std::span<const std::string> sources,
                                       std::int64_t beam, std::int64_t max_length);

TranslationQuality score_translations(const TextProcessing& text, std::span<const std::string> translations,
                                      const Corpus& corpus);

/// translate_all and score_translations in one.
TranslationQuality translation_quality(const TranslationSystem& system, const Corpus& corpus,
                                       std::int64_t beam, std::int64_t max_length);

/// All that a validation finds.
struct ValidationFigures {
  LossTotals loss;
  double perplexity = 0.0;
  std::optional<TranslationQuality> translation;  ///< if the configuration asks for it
};

/// Evaluates on a held-out set as a configuration says.
ValidationFigures validation_figures(const TranslationSystem& system, const PreparedCorpus& held_out,
                                     const ExperimentConfig& config, const BatchOptions& batches);

/// The one of the figures that a metric names.
double value_of(const ValidationFigures& figures, ValidationConfig::Metric metric);

/// The configured samples, then the first of the test set (or of what there is).
std::vector<Sample> make_samples(const TranslationSystem& system, const PreparedData& data,
                                 const ReportConfig& config);

}  // namespace attn
