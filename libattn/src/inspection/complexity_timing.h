#pragma once
#include <functional>

#include "attn/inspection/complexity.h"

namespace attn::inspection {

struct TimingOptions {
  int repeats = 5, warm_up = 1;
  double time_limit = 2;  ///< seconds; reached, no further run is begun
  TimedClock clock = TimedClock::wall;
  std::function<bool()> stop_requested;
};

/// Times passes through an encoder. x [batch, steps, width].
ComplexityTiming time_encoder(const SequenceEncoder& encoder, ParameterStore& store, const Tensor& x,
                              Pass pass, const TimingOptions& options);

/// Bytes that can still be had: what the device says, and on a device in the host's memory also what the
/// system could free.
double free_bytes(const Device& device);

}  // namespace attn::inspection
