#include "attn/inspection/complexity_path.h"

#include <algorithm>
#include <vector>

#include "attn/runtime/random.h"

namespace attn {
namespace {

Tensor first_row_gradient(Tape& tape, const Tensor& x, const Tensor& y) {
  const std::int64_t width = y.size(2);
  std::vector<double> cotangent(static_cast<std::size_t>(y.elements()), 0.0);
  std::fill(cotangent.end() - width, cotangent.end(), 1.0);
  tape.backward(y, Tensor::from<double>(y.shared_device(), cotangent, y.shape()));
  return tape.gradient_of(x).view(0, Shape{width});
}

}  // namespace

bool reaches_the_end(const std::shared_ptr<Device>& device, EncoderOptions options, std::int64_t steps,
                     std::int64_t count) {
  if (is_recurrent(options.kind)) {
    if (count < steps) return false;
    options.layers = 1;
  } else {
    options.layers = count;
  }
  if (count < 1) return steps == 1;
  options.width = 2 * (uses_heads(options.kind) ? options.heads : 1);
  ParameterStore store(device, DType::f64);
  const auto encoder = make_sequence_encoder(Scope(store), options);
  store.materialise(7);
  RandomSequence random(7, "dependence");
  const std::vector<double> values = normal_values(random, steps * options.width, 1.0);
  Tape tape;
  const Tensor x = tape.watch(Tensor::from<double>(device, values, {1, steps, options.width}));
  const Tensor y = (*encoder)(x);
  const std::vector<double> gradient = first_row_gradient(tape, x, y).to_vector<double>();
  return std::any_of(gradient.begin(), gradient.end(), [](double value) { return value != 0.0; });
}

std::optional<std::int64_t> measured_path_length(const std::shared_ptr<Device>& device,
                                                 const EncoderOptions& options, std::int64_t steps) {
  // More layers never reach less far, so the first count that reaches is found by bisection.
  std::int64_t too_few = 0, enough = 1;
  while (!reaches_the_end(device, options, steps, enough)) {
    if (enough >= steps) return std::nullopt;
    too_few = enough;
    enough = std::min(2 * enough, steps);
  }
  while (enough - too_few > 1) {
    const std::int64_t middle = too_few + (enough - too_few) / 2;
    (reaches_the_end(device, options, steps, middle) ? enough : too_few) = middle;
  }
  return enough;
}

std::optional<std::int64_t> path_length(const EncoderOptions& options, std::int64_t steps) noexcept {
  const std::int64_t distance = std::max<std::int64_t>(steps - 1, 0);
  const auto layers_of_reach = [distance](std::int64_t reach) -> std::optional<std::int64_t> {
    if (distance == 0) return 1;
    if (reach == 0) return std::nullopt;
    return (distance + reach - 1) / reach;
  };
  const std::int64_t reach = options.causal ? options.kernel - 1 : options.kernel / 2;
  switch (options.kind) {
    case EncoderKind::convolution:
      return layers_of_reach(reach);
    case EncoderKind::windowed_attention:
      return layers_of_reach(options.window / 2);
    case EncoderKind::dilated_convolution: {
      if (distance > 0 && options.kernel == 1) return std::nullopt;
      std::int64_t layers = 1;
      for (std::int64_t reached = options.kernel; reached < steps; reached *= options.kernel) ++layers;
      return layers;
    }
    case EncoderKind::rnn:
    case EncoderKind::gru:
      return steps;
    case EncoderKind::self_attention:
    case EncoderKind::multi_head_attention:
      return 1;
  }
  return std::nullopt;
}

std::string_view textbook_path(EncoderKind kind) noexcept {
  switch (kind) {
    case EncoderKind::convolution:
      return "O(n / k)";
    case EncoderKind::dilated_convolution:
      return "O(log_k n)";
    case EncoderKind::rnn:
    case EncoderKind::gru:
      return "O(n)";
    case EncoderKind::self_attention:
    case EncoderKind::multi_head_attention:
      return "O(1)";
    case EncoderKind::windowed_attention:
      return "O(n / r)";
  }
  return "?";
}

std::string_view textbook_sequential(EncoderKind kind) noexcept {
  return is_recurrent(kind) ? "O(n)" : "O(1)";
}

}  // namespace attn
