#include "attn/inspection/complexity_path.h"
#include "support/catch.h"

namespace {

using namespace attn;

std::optional<std::int64_t> measured(const EncoderOptions& options, std::int64_t steps) {
  return measured_path_length(Device::open("reference"), options, steps);
}

}  // namespace

TEST_CASE("path lengths found by gradients equal the closed forms", "[path]") {
  for (const EncoderKind kind : all_encoder_kinds()) {
    for (const bool causal : {true, false}) {
      for (const std::int64_t size : {1, 2, 3, 5}) {
        for (const std::int64_t steps : {1, 2, 9, 33}) {
          const EncoderOptions options{
              .kind = kind, .kernel = size, .heads = 2, .window = size, .causal = causal};
          CAPTURE(name_of(kind), causal, size, steps);
          CHECK(measured(options, steps) == path_length(options, steps));
        }
      }
    }
  }
}

TEST_CASE("path lengths of the table", "[path]") {
  const EncoderOptions convolution{.kind = EncoderKind::convolution, .kernel = 3};
  CHECK(measured(convolution, 64) == 32);  // ceil(63 / 2)
  EncoderOptions centred = convolution;
  centred.causal = false;
  CHECK(measured(centred, 64) == 63);  // twice as many, from one end to the other
  CHECK(measured({.kind = EncoderKind::dilated_convolution, .kernel = 2}, 64) == 6);  // log_2 64
  CHECK(measured({.kind = EncoderKind::dilated_convolution, .kernel = 4}, 64) == 3);
  CHECK(measured({.kind = EncoderKind::rnn}, 64) == 64);
  CHECK(measured({.kind = EncoderKind::gru}, 64) == 64);
  CHECK(measured({.kind = EncoderKind::self_attention}, 64) == 1);
  CHECK(measured({.kind = EncoderKind::multi_head_attention, .heads = 8}, 64) == 1);
  CHECK(measured({.kind = EncoderKind::windowed_attention, .window = 8}, 64) == 16);  // ceil(63 / 4)
}

TEST_CASE("with a kernel of 1 the ends never meet", "[path]") {
  const EncoderOptions options{.kind = EncoderKind::convolution, .kernel = 1};
  CHECK_FALSE(measured(options, 10));
  CHECK_FALSE(path_length(options, 10));
  CHECK(measured(options, 1) == 1);
}

TEST_CASE("one application fewer does not reach the end", "[path]") {
  const auto device = Device::open("eigen");
  const EncoderOptions options{.kind = EncoderKind::convolution, .kernel = 3};
  CHECK_FALSE(reaches_the_end(device, options, 256, 127));
  CHECK(reaches_the_end(device, options, 256, 128));
  CHECK(reaches_the_end(device, {.kind = EncoderKind::gru}, 256, 256));
  CHECK(reaches_the_end(device, {.kind = EncoderKind::rnn}, 256, 256));
}
