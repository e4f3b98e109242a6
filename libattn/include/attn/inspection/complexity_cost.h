#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attn/models/sequence_encoders.h"

/// What a pass through an encoder costs, counted from the operations that really ran.
namespace attn {

/// Forward alone (inference), or forward and backward (training without the optimizer).
enum class Pass { forward, forward_backward };

/// "forward", "forward_backward".
std::string_view name_of(Pass pass) noexcept;

/// All uses of one operation in a pass.
struct OperationCost {
  std::string name;  ///< "linear", "attention_gradient"
  std::int64_t uses = 0;
  double flops = 0;  ///< floating-point operations; a multiplication and an addition count as two
  double bytes = 0;  ///< of all inputs and outputs, each once
};

struct ComplexityCost {
  std::vector<OperationCost> operations;  ///< in the order of their first use
  double flops = 0;
  double bytes = 0;
  std::int64_t parameters = 0;  ///< trainable numbers
  /// Bytes of the input and of everything the tape keeps for a backward pass.
  double activation_bytes = 0;

  /// Flops of the operation of this name, 0 if it was not used.
  double flops_of(std::string_view operation) const noexcept;
};

/// Runs the encoder once on x [batch, steps, width] and counts from the recorded tape; the backward pass runs
/// by the same gradient rules, from a cotangent of ones. Gradients with respect to x are part of it. An
/// operation counts as itself, also where the backend decomposes it, so that counts do not depend on the
/// backend. `store` holds the encoder's parameters.
ComplexityCost count_cost(const SequenceEncoder& encoder, ParameterStore& store, const Tensor& x, Pass pass);

/// The longest chain of primitive operations of which each needs the result of the one before it: what cannot
/// run at the same time however many processors there are. Fused operations count as the chain of their
/// decomposition; gru_sequence thus counts every one of its steps. The chain does not depend on widths, so it
/// is counted on a narrow encoder (width = heads, batch 1), and for encoders that are not recurrent on at
/// most max(256, 2 window, 2 kernel) steps.
std::int64_t count_sequential_operations(const std::shared_ptr<Device>& device, EncoderOptions options,
                                         std::int64_t steps, Pass pass);

/// Names of the operations of this encoder that the backend does not run natively but by decomposition,
/// sorted; found by running a narrow encoder.
std::vector<std::string> decomposed_operations(const std::shared_ptr<Device>& device, EncoderOptions options,
                                               Pass pass);

/// Floating-point operations in closed form, which count_cost() must and does equal (tests check it). For
/// one layer of width d on n steps, forward:
///   convolution            n d (2 k d + 1), and n d for each tanh between layers
///   rnn                    n (4 d^2 + 3 d)
///   gru                    n (12 d^2 + 17 d)
///   self_attention         n^2 (4 d + 5)
///   multi_head_attention   8 n d^2 + n^2 (4 d + 5 heads)
///   windowed_attention     N (4 d + 5) K, N = n rounded up to whole blocks, K keys of a block
/// Backward passes are in the source. Exact as long as the numbers are below 2^53.
double closed_form_flops(const EncoderOptions& options, std::int64_t batch, std::int64_t steps, Pass pass);

/// Trainable numbers of an encoder in closed form.
double closed_form_parameters(const EncoderOptions& options);

/// A cautious estimate of the bytes that one pass needs beyond the program itself, f32. `decomposed` says
/// whether attention runs by decomposition, which keeps matrices of steps x steps.
double estimated_bytes(const EncoderOptions& options, std::int64_t batch, std::int64_t steps, Pass pass,
                       bool decomposed);

/// The exponent of n and of d in the orders that the textbook gives, O(n^a d^b) for the dominating term.
struct Orders {
  double length = 1;
  double width = 2;
  std::string_view text;  ///< "O(k n d^2)"
};
Orders textbook_orders(EncoderKind kind) noexcept;

}  // namespace attn
