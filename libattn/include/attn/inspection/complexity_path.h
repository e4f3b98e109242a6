#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "attn/models/sequence_encoders.h"

/// Maximum path length: how many layers (or steps of a recurrence) a signal passes between the two ends of a
/// sequence, found by propagating dependence through the real encoder.
namespace attn {

/// Whether, after `count` applications, the last of `steps` outputs depends on the first input: whether a
/// gradient is non-zero. An application is a layer, or one step of a recurrence; after fewer than `steps`
/// steps a recurrence has no last output yet. `device` computes in f64; options.layers is ignored.
bool reaches_the_end(const std::shared_ptr<Device>& device, EncoderOptions options, std::int64_t steps,
                     std::int64_t count);

/// The fewest applications after which reaches_the_end() holds, found by doubling and bisection; nothing if
/// `steps` applications do not suffice (a kernel of 1). Gradients that pass through very many steps vanish
/// below what f64 holds, so `steps` should be at most a few hundred.
std::optional<std::int64_t> measured_path_length(const std::shared_ptr<Device>& device,
                                                 const EncoderOptions& options, std::int64_t steps);

/// The same in closed form; nothing where the ends never meet. With reach b (k - 1 for causal convolutions,
/// k / 2 rounded down for centred ones, window / 2 for windows):
///   convolution, windowed_attention   ceil((n - 1) / b)
///   dilated_convolution               ceil(log_k n)
///   rnn, gru                          n
///   self_attention, multi_head_attention   1
std::optional<std::int64_t> path_length(const EncoderOptions& options, std::int64_t steps) noexcept;

/// "O(n / k)", "O(log_k n)", "O(n)", "O(1)", "O(n / r)".
std::string_view textbook_path(EncoderKind kind) noexcept;
/// "O(1)" or "O(n)".
std::string_view textbook_sequential(EncoderKind kind) noexcept;

}  // namespace attn
