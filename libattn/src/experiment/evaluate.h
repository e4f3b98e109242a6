#pragma once
// Translating a held-out set and scoring it, for validation and for the report.
#include <span>
#include <string>
#include <vector>

#include "attn/experiment/training_run.h"

namespace attn {

/// Translations of sources, in order; `max_length` 0: as long as the data suggests.
std::vector<std::string> translate_all(const TranslationSystem& system, std::span<const std::string> sources,
                                       std::int64_t beam, std::int64_t max_length);

TranslationQuality score_translations(const TextProcessing& text, std::span<const std::string> translations,
                                      const Corpus& corpus);

/// translate_all and score_translations in one.
TranslationQuality translation_quality(const TranslationSystem& system, const Corpus& corpus,
                                       std::int64_t beam, std::int64_t max_length);

/// The configured samples, then the first of the test set (or of what there is).
std::vector<Sample> make_samples(const TranslationSystem& system, const PreparedData& data,
                                 const ReportConfig& config);

}  // namespace attn
