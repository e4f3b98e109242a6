#include <fmt/format.h>

#include <algorithm>

#include "attn/inspection/complexity.h"

namespace attn {
namespace {

config::Choice<EncoderKind> layer_type_choice() {
  config::Choice<EncoderKind> choice;
  for (const EncoderKind kind : all_encoder_kinds()) choice.choices.emplace_back(name_of(kind), kind);
  return choice;
}

config::Choice<Pass> pass_choice() {
  return {{{"forward", Pass::forward}, {"forward_backward", Pass::forward_backward}}};
}

template<typename T>
bool check_list(config::Schema& schema, const std::string& path, const std::vector<T>& values) {
  if (values.empty()) {
    schema.problem(path, "an empty list leaves nothing to compare; give at least one value");
    return false;
  }
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (std::find(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(i), values[i]) !=
        values.begin() + static_cast<std::ptrdiff_t>(i)) {
      schema.problem(path, "a value stands in the list twice");
      return false;
    }
  }
  return true;
}

bool uses(const ComplexityGrid& grid, bool (*concerns)(EncoderKind)) {
  return std::any_of(grid.layer_types.begin(), grid.layer_types.end(), concerns);
}

void check_against_length(config::Schema& schema, const char* path, const char* what,
                          const std::vector<std::int64_t>& sizes, std::int64_t shortest) {
  for (const std::int64_t size : sizes) {
    if (size > shortest) {
      schema.problem(path, fmt::format("a {} of {} is longer than the shortest sequence, {} steps", what,
                                       size, shortest));
    }
  }
}

}  // namespace

void describe_complexity(config::Schema& schema, ComplexityGrid& grid) {
  const config::Integer size{.minimum = 1, .maximum = std::int64_t{1} << 31};
  schema.field("backends", grid.backends, config::Text{.may_be_empty = false},
               "Backends: names or plugin files");
  schema.field("threads", grid.threads, config::Integer{.minimum = 0}, "CPU threads; 0 for all cores");
  schema.field("layer_types", grid.layer_types, layer_type_choice(), "What is compared");
  schema.field("lengths", grid.lengths, size, "Sequence lengths n, ascending");
  schema.field("widths", grid.widths, size, "Widths d, ascending");
  schema.field("kernels", grid.kernels, size, "Kernel sizes k of convolutions");
  schema.field("heads", grid.heads, size, "Heads of multi-head attention");
  schema.field("windows", grid.windows, size, "Windows r of windowed attention: keys that a query sees");
  schema.field("layers", grid.layers, size, "Stacked layers");
  schema.field("batches", grid.batches, size, "Sequences of a batch");
  schema.field("passes", grid.passes, pass_choice(), "forward (inference), forward_backward (training)");
  schema.field("causal", grid.causal, config::Boolean{},
               "Whether a convolution sees earlier steps only, or as many on both sides");
  schema.field("seed", grid.seed, config::Integer{.minimum = 0}, "Seed of parameters and inputs");
  schema.field("measurement.repeats", grid.repeats, config::Integer{.minimum = 1, .maximum = 10000},
               "Timed runs of a combination");
  schema.field("measurement.warm_up", grid.warm_up, config::Integer{.minimum = 0, .maximum = 1000},
               "Runs before them that are not timed");
  schema.field("measurement.time_limit", grid.time_limit, config::Real{.above = 0},
               "Seconds for the timed runs of one combination; one that would take longer is left out");
  schema.field("measurement.fit_to", grid.fit_to,
               config::Choice<Statistic>{{{"median", Statistic::median}, {"minimum", Statistic::minimum}}},
               "What exponents and crossovers are taken from; the minimum is steadier on a busy machine");
  schema.field(
      "measurement.clock", grid.clock,
      config::Choice<TimedClock>{{{"wall", TimedClock::wall}, {"processor", TimedClock::processor}}},
      "The time that passes, or that of processors: what other programs do does not count (one thread)");
  schema.field("measurement.fit_points", grid.fit_points, config::Integer{.minimum = 2, .maximum = 1000},
               "How many of the largest sizes an exponent is fitted to");
  schema.field("path.limit", grid.path_limit, config::Integer{.minimum = 0, .maximum = 1024},
               "Longest sequence whose path length is verified by gradients");
}

void check_complexity(config::Schema& schema, const ComplexityGrid& grid) {
  check_list(schema, "backends", grid.backends);
  if (grid.clock == TimedClock::processor && grid.threads != 1)
    schema.problem("measurement.clock", "the processor's clock adds up all threads; use it with threads: 1");
  check_list(schema, "layer_types", grid.layer_types);
  check_list(schema, "passes", grid.passes);
  check_list(schema, "layers", grid.layers);
  check_list(schema, "batches", grid.batches);
  const bool kernels = check_list(schema, "kernels", grid.kernels);
  const bool heads = check_list(schema, "heads", grid.heads);
  const bool windows = check_list(schema, "windows", grid.windows);
  const auto ascending = [&schema](const char* path, const std::vector<std::int64_t>& values) {
    if (!check_list(schema, path, values)) return false;
    if (!std::is_sorted(values.begin(), values.end())) schema.problem(path, "the values must ascend");
    return true;
  };
  const bool widths = ascending("widths", grid.widths);
  if (ascending("lengths", grid.lengths)) {
    const std::int64_t shortest = *std::min_element(grid.lengths.begin(), grid.lengths.end());
    if (kernels && uses(grid, uses_kernel))
      check_against_length(schema, "kernels", "kernel", grid.kernels, shortest);
    if (windows && uses(grid, uses_window))
      check_against_length(schema, "windows", "window", grid.windows, shortest);
  }
  if (!heads || !widths || !uses(grid, uses_heads)) return;
  for (const std::int64_t width : grid.widths) {
    for (const std::int64_t count : grid.heads) {
      if (width % count != 0)
        schema.problem("heads", fmt::format("{} heads do not divide the width {}", count, width));
    }
  }
}

std::string label_of(const EncoderOptions& options) {
  std::string label(name_of(options.kind));
  if (uses_kernel(options.kind)) label += fmt::format(" k={}", options.kernel);
  if (uses_heads(options.kind)) label += fmt::format(" h={}", options.heads);
  if (uses_window(options.kind)) label += fmt::format(" r={}", options.window);
  return label;
}

}  // namespace attn
