#include "model_trace.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "attn/autograd/tape.h"
#include "attn/core/error.h"
#include "attn/experiment/setup.h"
#include "attn/training/loss.h"

namespace attn::bench {
namespace {

double difference_of(const std::vector<double>& found, const std::vector<double>& expected) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (found.size() != expected.size()) return infinity;
  double scale = 0, most = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] == expected[i]) {
      if (std::isfinite(expected[i])) scale = std::max(scale, std::abs(expected[i]));
      continue;
    }
    if (!std::isfinite(found[i]) || !std::isfinite(expected[i])) return infinity;
    scale = std::max(scale, std::abs(expected[i]));
    most = std::max(most, std::abs(found[i] - expected[i]));
  }
  return most > 0 ? most / std::max(scale, 1e-30) : 0;
}

}  // namespace

Trace trace_update(const ExperimentConfig& config, const PreparedData& data, TranslationSystem& system,
                   const Trace* start) {
  Trace trace;
  ParameterStore& store = system.model->parameters();
  for (std::size_t i = 0; i < store.all().size(); ++i) {
    const Parameter& parameter = *store.all()[i];
    if (start != nullptr) parameter.tensor.assign<double>(start->parameters.at(i));
    trace.parameters.push_back(parameter.tensor.to_vector<double>());
  }
  const TrainerConfig settings = trainer_config(config, 1);
  const Batch batch = BatchSampler(data.train.encoded, settings.batches, settings.seed).epoch(0).batch(0);
  const std::array<std::int32_t, 4> counter{static_cast<std::int32_t>(config.seed & 0xFFFFFFFFu),
                                            static_cast<std::int32_t>(config.seed >> 32), 1, 0};
  const Tensor random = Tensor::from<std::int32_t>(system.model->device(), counter, Shape{4});
  Tape tape;
  store.train_with(tape);
  Context context(random);
  const BatchLoss loss = batch_loss(system.model->forward(source_of(batch), decoder_input_of(batch), context),
                                    batch, settings.loss);
  std::size_t number = 0;
  for (const Tape::Node& node : tape.nodes()) {
    ++number;
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      if (!node.outputs[k].defined()) continue;
      trace.tensors.push_back(
          {fmt::format("operation {} ({}), output {}", number, node.call.operation->name, k),
           node.outputs[k].to_vector<double>()});
    }
  }
  tape.backward(loss.objective);
  for (const ParameterHandle& parameter : store.all()) {
    if (parameter->trainable)
      trace.tensors.push_back(
          {fmt::format("gradient of {}", parameter->path), parameter->gradient.to_vector<double>()});
  }
  store.stop_training();
  return trace;
}

std::optional<Divergence> first_divergence(const Trace& expected, const Trace& found, double bound,
                                           double* largest) {
  if (expected.tensors.size() != found.tensors.size())
    fail(ExitCode::internal, "a trace has {} tensors, the other {}", found.tensors.size(),
         expected.tensors.size());
  std::optional<Divergence> first;
  *largest = 0;
  for (std::size_t i = 0; i < expected.tensors.size(); ++i) {
    const double difference = difference_of(found.tensors[i].values, expected.tensors[i].values);
    *largest = std::max(*largest, difference);
    if (!first && difference > bound) first = Divergence{expected.tensors[i].name, difference};
  }
  return first;
}

}  // namespace attn::bench
