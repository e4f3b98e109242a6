#include "attn/evaluation/metric.h"

#include "attn/core/error.h"
#include "attn/core/version.h"

namespace attn {
namespace {

void check_segments(std::span<const std::string> hypotheses,
                    std::span<const std::vector<std::string>> references) {
  if (hypotheses.empty()) fail(ExitCode::input_data, "there are no hypotheses to score");
  if (hypotheses.size() != references.size()) {
    fail(ExitCode::input_data, "{} hypotheses cannot be scored against {} references; each needs its own",
         hypotheses.size(), references.size());
  }
  for (std::size_t i = 0; i < references.size(); ++i) {
    if (references[i].empty()) fail(ExitCode::input_data, "segment {} has no reference", i + 1);
  }
}

std::string reference_count_label(std::span<const std::vector<std::string>> references) {
  for (const auto& segment : references) {
    if (segment.size() != references.front().size()) return "var";
  }
  return std::to_string(references.front().size());
}

}  // namespace

SegmentStatistics segment_statistics(const Metric& metric, std::span<const std::string> hypotheses,
                                     std::span<const std::vector<std::string>> references) {
  check_segments(hypotheses, references);
  SegmentStatistics statistics{.width = metric.width(), .values = {}};
  statistics.values.reserve(hypotheses.size() * statistics.width);
  for (std::size_t i = 0; i < hypotheses.size(); ++i) {
    const std::vector<double> segment = metric.statistics(hypotheses[i], references[i]);
    statistics.values.insert(statistics.values.end(), segment.begin(), segment.end());
  }
  return statistics;
}

std::vector<double> totals_of(const SegmentStatistics& statistics) {
  std::vector<double> totals(statistics.width);
  for (std::size_t i = 0; i < statistics.values.size(); ++i) {
    totals[i % statistics.width] += statistics.values[i];
  }
  return totals;
}

std::string signature_of(const Metric& metric, std::span<const std::vector<std::string>> references,
                         const std::optional<Bootstrap>& bootstrap) {
  const std::string samples =
      bootstrap ? fmt::format("bs:{}|seed:{}|", bootstrap->samples, bootstrap->seed) : "";
  return fmt::format("nrefs:{}|{}{}|impl:attn|version:{}", reference_count_label(references), samples,
                     metric.settings(), version());
}

std::vector<std::vector<std::string>> one_reference_each(std::span<const std::string> references) {
  std::vector<std::vector<std::string>> lists;
  lists.reserve(references.size());
  for (const std::string& reference : references) lists.push_back({reference});
  return lists;
}

}  // namespace attn
