#pragma once
#include <span>
#include <string>

#include "attn/experiment/run_comparison.h"
#include "attn/io/line_chart.h"

namespace attn {

/// The metric of metrics.jsonl that curves show without a wish: valid_ and the first run's validation.metric
/// if it has that, else loss.
std::string usual_curve(std::span<const RunHistory> runs);

/// A metric of metrics.jsonl over the epochs, a line for each row of the comparison, named by the keys that
/// differ. Of several runs: the mean of those that have the epoch, and a band of one standard deviation of
/// the sample around it. Losses and perplexities are on a logarithmic axis. Throws Error (usage) that lists
/// the metrics if no run has this one.
LineChart learning_curves(const RunComparison& comparison, std::span<const RunHistory> runs,
                          const std::string& metric);

}  // namespace attn
