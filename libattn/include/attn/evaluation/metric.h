#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// How the samples of a bootstrap are drawn; the defaults are sacrebleu's.
struct Bootstrap {
  std::size_t samples = 1000;
  std::uint64_t seed = 12345;
};

/// A score of one bootstrap sample and whether it was computed in single precision.
struct SampleScore {
  double value = 0.0;
  bool single_precision = false;
};

/// The counts that a corpus score is computed from, for each segment: [segments, width], row by row.
struct SegmentStatistics {
  std::size_t width = 1;
  std::vector<double> values;

  std::size_t segments() const noexcept { return values.size() / width; }
};

/// A score of a corpus that depends only on the sums of counts over the segments, so that it can be computed
/// anew for any selection of segments. Made by bleu_metric, chrf_metric and ter_metric.
class Metric {
 public:
  Metric() = default;
  Metric(const Metric&) = delete;
  Metric& operator=(const Metric&) = delete;
  virtual ~Metric() = default;

  /// As sacrebleu writes it: "BLEU", "chrF2++", "TER".
  virtual std::string name() const = 0;
  /// The part of the signature that says how the score is computed, such as "case:lc|tok:tercom".
  virtual std::string settings() const = 0;
  /// How many counts a segment has.
  virtual std::size_t width() const = 0;
  /// The counts of one segment [width]; `references` holds at least one.
  virtual std::vector<double> statistics(std::string_view hypothesis,
                                         std::span<const std::string> references) const = 0;
  /// The score, 0 to 100 (TER may be larger), of summed counts [width].
  virtual double score(std::span<const double> totals) const = 0;
  /// The score of one bootstrap sample, computed in single precision where sacrebleu does (with numpy 2), so
  /// that intervals and p-values agree with it.
  virtual SampleScore sample_score(std::span<const float> totals) const = 0;
  /// What sacrebleu prints after the score: for BLEU precisions, brevity penalty and lengths, else nothing.
  virtual std::string details(std::span<const double> /*totals*/) const { return {}; }
};

/// The counts of every segment. hypotheses [segments]; references [segments][references of the segment].
/// Throws Error (input_data) when the numbers of segments differ, there are none, or one has no reference.
SegmentStatistics segment_statistics(const Metric& metric, std::span<const std::string> hypotheses,
                                     std::span<const std::vector<std::string>> references);

/// The sums over the segments [width].
std::vector<double> totals_of(const SegmentStatistics& statistics);

/// How a score was made, in sacrebleu's form: number of references ("var" where it varies), bootstrap if
/// there was one, settings, and "impl:attn" with the version of attn.
std::string signature_of(const Metric& metric, std::span<const std::vector<std::string>> references,
                         const std::optional<Bootstrap>& bootstrap = std::nullopt);

/// Each reference as a list of its own: from [segments] to [segments][1].
std::vector<std::vector<std::string>> one_reference_each(std::span<const std::string> references);

}  // namespace attn
