#include "attn/evaluation/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attn/core/error.h"
#include "evaluation/numpy_random.h"

namespace attn {
namespace {

/// The scores of all samples. sacrebleu keeps them in an array of single precision if every score is.
struct Samples {
  std::vector<double> scores;
  bool single_precision = true;
};

Samples resample(const Metric& metric, const SegmentStatistics& statistics, const Bootstrap& bootstrap) {
  const std::size_t width = statistics.width;
  const std::vector<float> values(statistics.values.begin(), statistics.values.end());
  const auto segments = static_cast<std::uint32_t>(statistics.segments());
  NumpyRandom random(bootstrap.seed);
  Samples samples;
  std::vector<float> totals(width);
  for (std::size_t sample = 0; sample < bootstrap.samples; ++sample) {
    std::fill(totals.begin(), totals.end(), 0.0F);
    for (std::uint32_t i = 0; i < segments; ++i) {
      const float* segment = values.data() + random.below(segments) * width;
      for (std::size_t k = 0; k < width; ++k) totals[k] += segment[k];
    }
    const SampleScore score = metric.sample_score(totals);
    samples.scores.push_back(score.value);
    samples.single_precision = samples.single_precision && score.single_precision;
  }
  return samples;
}

/// The sum in numpy's order: pairwise over blocks of at most 128, each in eight partial sums.
template<typename Real>
Real numpy_sum(std::span<const Real> values) {
  constexpr std::size_t lanes = 8, block = 128;
  if (values.size() > block) {
    const std::size_t half = values.size() / 2 / lanes * lanes;
    return numpy_sum(values.first(half)) + numpy_sum(values.subspan(half));
  }
  Real sum = 0;
  std::size_t i = 0;
  if (values.size() >= lanes) {
    std::array<Real, lanes> r{};
    for (; i + lanes <= values.size(); i += lanes) {
      for (std::size_t lane = 0; lane < lanes; ++lane) r[lane] += values[i + lane];
    }
    sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
  }
  for (; i < values.size(); ++i) sum += values[i];
  return sum;
}

template<typename Real>
Real numpy_mean(std::span<const Real> values) {
  return numpy_sum(values) / static_cast<Real>(values.size());
}

/// Of sorted scores.
template<typename Real>
double half_width(const std::vector<Real>& scores) {
  const std::size_t left_out = scores.size() / 40;  // 2.5% at each end
  return Real(0.5) * (scores[scores.size() - 1 - left_out] - scores[left_out]);
}

template<typename Real>
std::vector<Real> as(const Samples& samples) {
  return {samples.scores.begin(), samples.scores.end()};
}

template<typename Real>
std::vector<Real> sorted(const Samples& samples) {
  std::vector<Real> scores = as<Real>(samples);
  std::sort(scores.begin(), scores.end());
  return scores;
}

template<typename Real>
Confidence confidence(const Samples& samples) {
  const std::vector<Real> scores = sorted<Real>(samples);
  return {numpy_mean(std::span<const Real>(scores)), half_width(scores)};
}

Confidence confidence(const Samples& samples) {
  return samples.single_precision ? confidence<float>(samples) : confidence<double>(samples);
}

template<typename Real>
double p_value(const Samples& baseline, const Samples& system, double difference) {
  std::vector<Real> differences = as<Real>(system);
  const std::vector<Real> subtracted = as<Real>(baseline);
  for (std::size_t i = 0; i < differences.size(); ++i) {
    differences[i] = std::abs(differences[i] - subtracted[i]);
  }
  const Real mean = numpy_mean(std::span<const Real>(differences));
  const auto larger = std::count_if(differences.begin(), differences.end(),
                                    [&](Real found) { return found - mean > static_cast<Real>(difference); });
  return static_cast<double>(larger + 1) / static_cast<double>(differences.size() + 1);
}

void check(const SegmentStatistics& statistics, const Bootstrap& bootstrap) {
  if (bootstrap.samples < 2) {
    fail(ExitCode::usage, "a bootstrap needs at least 2 samples, found {}", bootstrap.samples);
  }
  if (statistics.segments() == 0) fail(ExitCode::input_data, "there are no segments to draw samples from");
  if (statistics.segments() > std::numeric_limits<std::uint32_t>::max()) {
    fail(ExitCode::input_data, "a bootstrap draws from at most 4294967295 segments, found {}",
         statistics.segments());
  }
}

}  // namespace

Confidence confidence_interval(const Metric& metric, const SegmentStatistics& statistics,
                               const Bootstrap& bootstrap) {
  check(statistics, bootstrap);
  const Samples samples = resample(metric, statistics, bootstrap);
  // For one system sacrebleu takes Python's mean, which is exact before it is rounded.
  long double sum = 0;
  for (const double score : samples.scores) sum += score;
  const auto mean = static_cast<double>(sum / static_cast<long double>(samples.scores.size()));
  if (!samples.single_precision) return {mean, half_width(sorted<double>(samples))};
  return {static_cast<float>(mean), half_width(sorted<float>(samples))};
}

PairedComparison paired_bootstrap(const Metric& metric, const SegmentStatistics& baseline,
                                  const SegmentStatistics& system, const Bootstrap& bootstrap) {
  check(baseline, bootstrap);
  if (baseline.segments() != system.segments()) {
    fail(ExitCode::input_data, "the systems have {} and {} segments; a paired test needs the same segments",
         baseline.segments(), system.segments());
  }
  const Samples baseline_samples = resample(metric, baseline, bootstrap);
  const Samples system_samples = resample(metric, system, bootstrap);
  const double difference = std::abs(metric.score(totals_of(baseline)) - metric.score(totals_of(system)));
  const bool single = baseline_samples.single_precision && system_samples.single_precision;
  return {confidence(baseline_samples), confidence(system_samples),
          single ? p_value<float>(baseline_samples, system_samples, difference)
                 : p_value<double>(baseline_samples, system_samples, difference)};
}

}  // namespace attn
