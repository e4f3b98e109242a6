#pragma once
// The same training on several backends, side by side.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attn/experiment/data.h"
#include "attn/experiment/experiment_config.h"

namespace attn::bench {

struct ComparisonOptions {
  std::vector<std::string>
      backends;  ///< names or plugin files; the first is what the others are compared with
  std::int64_t updates = 50;
  std::size_t lines = 200;  ///< of the test set that are translated; 0: none
  double bound = 1e-4;      ///< relative difference beyond which a trace calls an operation diverging
  bool trace = false;
  std::function<void(const std::string& backend, std::int64_t update)> progress;
};

/// The first place where two backends differ by more than the bound, in one update from equal parameters.
struct Divergence {
  std::string where;  ///< "operation 12, attention, output 0" or "gradient of encoder.embedding.weight"
  double difference = 0;
};

/// What one backend made of the experiment.
struct BackendRun {
  std::string backend, file, device;
  std::vector<double> losses;  ///< nats per target token, of every update
  double training_tokens_per_second = 0;
  double translating_tokens_per_second = 0;
  std::vector<std::string> translations;
  std::size_t device_bytes = 0;    ///< most device memory in use
  std::size_t resident_bytes = 0;  ///< most memory of the process while this backend ran
  // beside the first backend
  double largest_difference = 0;  ///< of a loss, relative
  std::int64_t largest_at = 0;    ///< the update
  double identical_lines = 1;     ///< share of the translations
  std::optional<Divergence> divergence;
  double largest_traced = 0;  ///< largest difference of an operation or gradient, with trace
};

/// Trains the experiment on each backend for so many updates, from the same seed on the same data, and
/// translates with each result. Throws what training throws.
std::vector<BackendRun> compare_backends(const ExperimentConfig& config, const PreparedData& data,
                                         const ComparisonOptions& options);

}  // namespace attn::bench
