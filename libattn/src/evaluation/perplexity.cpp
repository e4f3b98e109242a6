#include "attn/evaluation/perplexity.h"

#include <cmath>

#include "attn/core/error.h"

namespace attn {

double perplexity(double summed_nats, std::size_t tokens) {
  if (tokens == 0) fail(ExitCode::input_data, "perplexity needs at least one token");
  return std::exp(summed_nats / static_cast<double>(tokens));
}

}  // namespace attn
