#pragma once
#include <cstddef>

namespace attn {

/// exp(summed_nats / tokens): the perplexity of a text whose negative log-likelihood, summed over `tokens`
/// tokens, is `summed_nats`. Too large a mean gives infinity. Throws Error (input_data) when there are no
/// tokens.
double perplexity(double summed_nats, std::size_t tokens);

}  // namespace attn
