#include <cmath>

#include "attn/ops/ops.h"
#include "scenario.h"
#include "support/catch.h"

namespace {

using namespace attn;
using namespace attn::test;

constexpr std::int64_t tokens = 4, classes = 5;

std::vector<double> some_logits() {
  return input_values({"logits", {{tokens, classes}}, {}, -3.0, 3.0})[0];
}

// sum over classes of q log(q / p), by the definition in attn/op_kinds.h.
double divergence(const double* logits, std::int32_t label, double smoothing, std::int32_t excluded) {
  double normaliser = 0;
  for (int c = 0; c < classes; ++c) normaliser += std::exp(logits[c]);
  double loss = 0;
  for (int c = 0; c < classes; ++c) {
    const double q = c == label ? 1 - smoothing : c == excluded ? 0.0 : smoothing / (classes - 2);
    if (q > 0) loss += q * (std::log(q) - (logits[c] - std::log(normaliser)));
  }
  return loss;
}

}  // namespace

TEST_CASE("smoothing over the other classes is the divergence by its definition, padding costs nothing") {
  const std::vector<std::int32_t> labels{0, 4, -1, 2};
  const auto logits = some_logits();
  for (const char* backend : {"reference", "eigen"}) {
    const auto device = device_if_there(backend);
    if (!device) continue;
    for (const std::int32_t excluded : {-1, 1}) {
      for (const double smoothing : {0.0, 0.1, 0.5}) {
        INFO(backend << " excluded " << excluded << " smoothing " << smoothing);
        const Tensor x = Tensor::from<double>(device, logits, {tokens, classes});
        const auto found =
            ops::cross_entropy(x, integers(x, labels, {tokens}), {smoothing, ATTN_SMOOTH_OTHERS, excluded})
                .to_vector<double>();
        for (std::size_t t = 0; t < labels.size(); ++t) {
          const double expected =
              labels[t] < 0 ? 0.0 : divergence(&logits[t * classes], labels[t], smoothing, excluded);
          CHECK(found[t] == Approx(expected).margin(1e-12));
        }
      }
    }
  }
}
