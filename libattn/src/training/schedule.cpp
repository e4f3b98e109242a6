#include "attn/training/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace attn {
namespace {

double cosine(const ScheduleConfig& schedule, double n) {
  const auto warmup = static_cast<double>(schedule.warmup_updates);
  const double span = std::max(1.0, static_cast<double>(schedule.total_updates) - warmup);
  const double progress = std::clamp((n - warmup) / span, 0.0, 1.0);
  return schedule.minimum +
         0.5 * (schedule.learning_rate - schedule.minimum) * (1.0 + std::cos(std::numbers::pi * progress));
}

}  // namespace

double learning_rate_at(const ScheduleConfig& schedule, std::int64_t update) {
  const auto n = static_cast<double>(update), warmup = static_cast<double>(schedule.warmup_updates);
  const double peak = schedule.learning_rate;
  if (schedule.kind == ScheduleConfig::Kind::noam) {
    const double rising = warmup > 0 ? n * std::pow(warmup, -1.5) : 1.0 / std::sqrt(n);
    return peak / std::sqrt(static_cast<double>(schedule.width)) * std::min(1.0 / std::sqrt(n), rising);
  }
  if (schedule.kind == ScheduleConfig::Kind::constant) return peak;
  if (n < warmup) return schedule.initial + n * (peak - schedule.initial) / warmup;
  switch (schedule.kind) {
    case ScheduleConfig::Kind::inverse_sqrt:
      return peak * std::sqrt(std::max(1.0, warmup) / n);
    case ScheduleConfig::Kind::cosine:
      return cosine(schedule, n);
    case ScheduleConfig::Kind::step: {
      const std::int64_t decays = (update - 1) / std::max<std::int64_t>(1, schedule.interval);
      return peak * std::pow(schedule.decay, static_cast<double>(decays));
    }
    default:
      return peak;
  }
}

}  // namespace attn
