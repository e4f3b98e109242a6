#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attn/inspection/complexity_cost.h"
#include "attn/inspection/complexity_fit.h"
#include "attn/io/config_schema.h"

/// The table that every text on attention prints (computation, sequential operations, longest path), counted
/// from executed operations and measured beside it.
namespace attn {

/// Which of the timed runs stands for all of them in exponents and crossovers: the shortest is steadier on a
/// machine that others use as well.
enum class Statistic { median, minimum };

/// What is timed: the time that passes, or the time that the program spends on processors. The latter does
/// not count what other programs do, and is meaningful for one thread on a CPU.
enum class TimedClock { wall, processor };

/// What is compared: every combination of the lists; a layer type uses the lists that concern it.
struct ComplexityGrid {
  std::vector<std::string> backends{"eigen"};
  int threads = 1;
  std::vector<EncoderKind> layer_types{all_encoder_kinds().begin(), all_encoder_kinds().end()};
  std::vector<std::int64_t> lengths{64, 128, 256, 512, 1024, 2048};
  std::vector<std::int64_t> widths{256};
  std::vector<std::int64_t> kernels{3};
  std::vector<std::int64_t> heads{8};
  std::vector<std::int64_t> windows{64};
  std::vector<std::int64_t> layers{1};
  std::vector<std::int64_t> batches{1};
  std::vector<Pass> passes{Pass::forward, Pass::forward_backward};
  bool causal = true;  ///< of plain convolutions, see EncoderOptions
  std::uint64_t seed = 1;
  int repeats = 5;        ///< timed runs of a cell
  int warm_up = 1;        ///< runs before them
  double time_limit = 2;  ///< seconds that the runs of one cell may take
  Statistic fit_to = Statistic::median;
  TimedClock clock = TimedClock::wall;
  int fit_points = 4;             ///< longest lengths that exponents are fitted to
  std::int64_t path_limit = 256;  ///< longest sequence whose path length is verified by gradients
};

/// Declares the keys of a configuration, bound to `grid`.
void describe_complexity(config::Schema& schema, ComplexityGrid& grid);
/// Reports to the schema what no single key shows: empty or unordered lists, kernels and windows that are
/// longer than a sequence, heads that do not divide a width.
void check_complexity(config::Schema& schema, const ComplexityGrid& grid);

struct ComplexityTiming {
  double median = 0, minimum = 0, maximum = 0;  ///< seconds
  int repeats = 0;
  double gflops = 0;          ///< counted flops over the median, in 10^9 a second
  double peak_share = 0;      ///< of the device's measured matrix product
  double representative = 0;  ///< seconds, as ComplexityGrid::fit_to says
  double peak_bytes = 0;  ///< most that the device's buffers held during a run, beyond input and parameters
};

/// One combination.
struct ComplexityCell {
  std::string backend;
  Pass pass = Pass::forward;
  EncoderOptions encoder;
  std::int64_t batch = 1;
  std::int64_t length = 1;
  bool counted = false;  ///< otherwise `cost` has the closed forms for flops and parameters, and no more
  ComplexityCost cost;
  std::int64_t sequential_operations = 0;
  std::optional<std::int64_t> path_length;  ///< nothing where the ends never meet
  bool path_verified = false;               ///< by gradients, otherwise by the closed form
  std::optional<ComplexityTiming> timing;
  std::string skipped;  ///< why there is no timing
};

/// The layer type with the size that concerns it: "convolution k=3", "multi_head_attention h=8".
std::string label_of(const EncoderOptions& options);

/// An exponent, in n or in d, of one layer type with all else fixed.
struct ComplexityFit {
  std::string backend;
  Pass pass = Pass::forward;
  EncoderOptions encoder;
  std::int64_t batch = 1;
  bool over_length = true;  ///< otherwise over the width, at length `length`
  std::int64_t length = 0;
  double textbook = 1;
  std::optional<PowerLaw> flops;    ///< of what was counted
  std::optional<PowerLaw> seconds;  ///< of what was measured
};

/// The n from which on self-attention costs more than another layer type.
struct ComplexityCrossover {
  std::string backend;
  Pass pass = Pass::forward;
  EncoderOptions attention, other;
  std::int64_t batch = 1;
  double by_order = 0;              ///< what the orders say: d for a recurrence, k d for a convolution
  double by_count = 0;              ///< where the counted flops become equal
  std::optional<Crossing> by_time;  ///< where the times do
};

struct ComplexityDevice {
  std::string backend, version, device;
  int threads = 1;
  double peak_gflops = 0;                                      ///< the fastest of several f32 matrix products
  std::map<std::string, std::vector<std::string>> decomposed;  ///< by layer type: what it lacks
};

struct ComplexityReport {
  std::vector<ComplexityDevice> devices;
  std::vector<ComplexityCell> cells;
  std::vector<ComplexityFit> fits;
  std::vector<ComplexityCrossover> crossovers;
};

/// Who watches a run; empty members are not called.
struct ComplexityObserver {
  std::function<void(const std::string& warning)> warning;
  /// Before each cell.
  std::function<void(std::size_t done, std::size_t total, const std::string& label)> cell;
  std::function<bool()> stop_requested;
};

/// Runs the grid. Before anything is measured, the memory that the largest cell needs is compared with what
/// is free: Error(config) with both numbers. Throws Error(interrupted) when stop_requested() says so, and
/// Error(backend).
ComplexityReport run_complexity(const ComplexityGrid& grid, const ComplexityObserver& observer);

/// GFLOP/s of f32 matrix products on this device, the best of several sizes.
double measured_peak(const std::shared_ptr<Device>& device, TimedClock clock = TimedClock::wall);

}  // namespace attn
