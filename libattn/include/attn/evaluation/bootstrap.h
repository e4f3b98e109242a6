#pragma once
#include "attn/evaluation/metric.h"

namespace attn {

/// Mean of the scores of the bootstrap samples, and half the width of the interval that holds 95% of them.
struct Confidence {
  double mean = 0.0;
  double half_width = 0.0;
};

/// Two systems scored on the same samples.
struct PairedComparison {
  Confidence baseline;
  Confidence system;
  /// The probability of a difference at least as large as the one found if the systems were equally good.
  double p_value = 1.0;
};

/// The confidence interval of one system by bootstrap resampling of its segments, as sacrebleu's
/// --confidence. Throws Error (input_data) when there are no segments, Error (usage) for less than 2 samples.
/// Source: Koehn, 2004.
Confidence confidence_interval(const Metric& metric, const SegmentStatistics& statistics,
                               const Bootstrap& bootstrap = {});

/// The paired bootstrap test of sacrebleu's --paired-bs: both systems are scored on the same samples of
/// segments. The p-value is (1 + the number of samples whose difference exceeds the mean difference by more
/// than the difference of the whole corpus) / (1 + samples). Throws Error (input_data) when the systems have
/// not the same segments or none, Error (usage) for less than 2 samples. Source: Koehn, 2004.
PairedComparison paired_bootstrap(const Metric& metric, const SegmentStatistics& baseline,
                                  const SegmentStatistics& system, const Bootstrap& bootstrap = {});

}  // namespace attn
