#pragma once
#include <cstdint>

namespace attn {

/// How the learning rate changes over the updates.
struct ScheduleConfig {
  enum class Kind {
    constant,  ///< always learning_rate
    noam,  ///< width^-0.5 min(n^-0.5, n warmup^-1.5), times learning_rate (Vaswani et al., 2017, section 5.3)
    inverse_sqrt,  ///< linear from `initial` to learning_rate over the warm-up, then learning_rate
                   ///< sqrt(warmup / n)
    cosine,        ///< linear warm-up, then half a cosine from learning_rate to `minimum` at `total_updates`
    step           ///< learning_rate times decay^floor((n - 1) / interval), after a linear warm-up
  };
  Kind kind = Kind::constant;
  double learning_rate = 0.001;
  std::int64_t warmup_updates = 0;
  double initial = 0.0;
  double minimum = 0.0;
  std::int64_t total_updates = 0;
  double decay = 0.5;
  std::int64_t interval = 1000;
  std::int64_t width = 512;  ///< the model's, for noam
};

/// The learning rate of update n, counted from 1.
double learning_rate_at(const ScheduleConfig& schedule, std::int64_t n);

}  // namespace attn
