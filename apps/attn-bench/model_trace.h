#pragma once
// What every operation of one update computes, to find the first that differs between two backends.
#include <optional>
#include <string>
#include <vector>

#include "attn/training/translation_system.h"
#include "model_comparison.h"

namespace attn::bench {

struct TracedTensor {
  std::string name;
  std::vector<double> values;
};

struct Trace {
  std::vector<std::vector<double>> parameters;  ///< before the update
  std::vector<TracedTensor>
      tensors;  ///< outputs of the operations in order, then gradients of the parameters
};

/// Forward and backward pass of the first batch. The parameters are those of `start` if given, else the
/// model's own.
Trace trace_update(const ExperimentConfig& config, const PreparedData& data, TranslationSystem& system,
                   const Trace* start);

/// The first tensor that differs by more than `bound` relative to its largest element; `largest` receives the
/// largest difference of any.
std::optional<Divergence> first_divergence(const Trace& expected, const Trace& found, double bound,
                                           double* largest);

}  // namespace attn::bench
