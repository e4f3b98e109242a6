#include <cmath>

#include "attn/models/sequence_encoders.h"
#include "attn/runtime/random.h"
#include "support/catch.h"

namespace {

using namespace attn;

using Values = std::vector<double>;

Values random_values(std::int64_t count, const char* name) {
  RandomSequence random(11, name);
  return normal_values(random, count, 1.0);
}

Values run(const EncoderOptions& options, std::int64_t batch, std::int64_t steps, const Values& x,
           const char* backend = "reference") {
  const auto device = Device::open(backend);
  ParameterStore store(device, DType::f64);
  const auto encoder = make_sequence_encoder(Scope(store), options);
  store.materialise(2);
  return (*encoder)(Tensor::from<double>(device, x, {batch, steps, options.width})).to_vector<double>();
}

// softmax(x x^T / sqrt(d)) x over the keys that lie in the window, written as in the book.
Values attention_by_hand(const Values& x, std::int64_t steps, std::int64_t width, std::int64_t before,
                         std::int64_t after) {
  Values y(x.size(), 0.0);
  const auto at = [&](std::int64_t step, std::int64_t column) {
    return x[static_cast<std::size_t>(step * width + column)];
  };
  for (std::int64_t query = 0; query < steps; ++query) {
    double total = 0;
    for (std::int64_t key = std::max<std::int64_t>(0, query - before);
         key <= std::min(steps - 1, query + after); ++key) {
      double score = 0;
      for (std::int64_t c = 0; c < width; ++c) score += at(query, c) * at(key, c);
      const double weight = std::exp(score / std::sqrt(static_cast<double>(width)));
      total += weight;
      for (std::int64_t c = 0; c < width; ++c)
        y[static_cast<std::size_t>(query * width + c)] += weight * at(key, c);
    }
    for (std::int64_t c = 0; c < width; ++c) y[static_cast<std::size_t>(query * width + c)] /= total;
  }
  return y;
}

void check_close(const Values& found, const Values& expected) {
  REQUIRE(found.size() == expected.size());
  double worst = 0;
  for (std::size_t i = 0; i < found.size(); ++i) worst = std::max(worst, std::abs(found[i] - expected[i]));
  CHECK(worst < 1e-10);
}

}  // namespace

TEST_CASE("self-attention is softmax(x x^T / sqrt(d)) x", "[encoders]") {
  const Values x = random_values(9 * 4, "x");
  check_close(run({.kind = EncoderKind::self_attention, .width = 4}, 1, 9, x),
              attention_by_hand(x, 9, 4, 9, 9));
}

TEST_CASE("windowed attention sees the window around each query and nothing else", "[encoders]") {
  for (const std::int64_t steps : {1, 2, 9, 16, 17}) {
    for (const std::int64_t window : {1, 2, 3, 4, 5, 8}) {
      CAPTURE(steps, window);
      const Values x = random_values(steps * 4, "x");
      check_close(run({.kind = EncoderKind::windowed_attention, .width = 4, .window = window}, 1, steps, x),
                  attention_by_hand(x, steps, 4, window / 2, window - 1 - window / 2));
    }
  }
}

TEST_CASE("a batch gives what its sequences give alone", "[encoders]") {
  for (const EncoderKind kind : all_encoder_kinds()) {
    CAPTURE(name_of(kind));
    const EncoderOptions options{.kind = kind, .width = 4, .layers = 2, .heads = 2, .window = 4};
    const Values a = random_values(7 * 4, "a"), b = random_values(7 * 4, "b");
    Values both = a;
    both.insert(both.end(), b.begin(), b.end());
    Values expected = run(options, 1, 7, a);
    const Values of_b = run(options, 1, 7, b);
    expected.insert(expected.end(), of_b.begin(), of_b.end());
    check_close(run(options, 2, 7, both), expected);
    check_close(run(options, 2, 7, both, "eigen"), expected);
  }
}

TEST_CASE("causal encoders give the same for a prefix", "[encoders]") {
  for (const EncoderKind kind :
       {EncoderKind::convolution, EncoderKind::dilated_convolution, EncoderKind::rnn, EncoderKind::gru}) {
    CAPTURE(name_of(kind));
    const EncoderOptions options{.kind = kind, .width = 4, .layers = 3};
    const Values x = random_values(12 * 4, "x");
    Values whole = run(options, 1, 12, x);
    whole.resize(5 * 4);
    check_close(run(options, 1, 5, Values(x.begin(), x.begin() + 5 * 4)), whole);
  }
}
