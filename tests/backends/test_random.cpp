#include <cmath>

#include "abi_is_c.h"
#include "attn/philox.h"
#include "harness.h"
#include "support/catch.h"

using namespace attn::test;

namespace {

Operation dropout(uint32_t stream, double rate) {
  return Operation(ATTN_OP_DROPOUT).params(attn_dropout_params{0, stream, rate});
}

constexpr int32_t random_words[4] = {12345, -678, 42, 7};
const Tensor random_tensor = i32({4}, {12345, -678, 42, 7});

}  // namespace

TEST_CASE("philox4x32-10 gives the known answers of the Random123 distribution") {
  struct Case {
    uint32_t counter[4], key[2], expected[4];
  };
  const Case cases[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
       {0xffffffff, 0xffffffff},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (const Case& c : cases) {
    uint32_t words[4];
    attn_philox4x32_10(c.counter, c.key, words);
    for (int i = 0; i < 4; ++i) CHECK(words[i] == c.expected[i]);
  }
}

TEST_CASE("a dropout block is the Philox block of its counter, in C as in C++") {
  const uint64_t block = (uint64_t{3} << 32) + 17;
  const uint32_t counter[4] = {17, 5u ^ (3u << 16), 42, 7};
  const uint32_t key[2] = {12345, static_cast<uint32_t>(-678)};
  uint32_t expected[4], in_cpp[4], in_c[4];
  attn_philox4x32_10(counter, key, expected);
  attn_dropout_block(random_words, 5, block, in_cpp);
  c_draws_dropout_block(random_words, 5, block, in_c);
  for (int i = 0; i < 4; ++i) {
    CHECK(in_cpp[i] == expected[i]);
    CHECK(in_c[i] == expected[i]);
  }
}

TEST_CASE("the dropout threshold is the floor of rate times 2 to the 32") {
  CHECK(attn_dropout_threshold(0) == 0u);
  CHECK(attn_dropout_threshold(0.5) == 0x80000000u);
  CHECK(attn_dropout_threshold(0.1) == 429496729u);
  CHECK(attn_dropout_threshold(std::nextafter(1.0, 0.0)) == 0xFFFFFFFFu);
}

TEST_CASE("dropout keeps exactly the elements that the shared generator says") {
  // no multiple of a block, of a register or of what threads share out
  constexpr int64_t count = 10007;
  constexpr double rate = 0.3;
  constexpr uint32_t stream = 11;
  Values x(count), expected(count);
  for (int64_t i = 0; i < count; ++i) {
    x[i] = static_cast<double>(i % 97) - 48.5;
    uint32_t words[4];
    attn_dropout_block(random_words, stream, static_cast<uint64_t>(i) / 4, words);
    expected[i] = words[i % 4] >= attn_dropout_threshold(rate) ? x[i] / (1 - rate) : 0.0;
  }
  for_each_backend_and_type([&](const Backend& backend, const Real& real) {
    Operation operation = dropout(stream, rate).input(real({count}, x)).input(random_tensor);
    check_equal(backend.run(Operation(operation).output(real.output({count})))[0], real({count}, expected));
    check_equal(backend.run(Operation(operation).aliased_output(0))[0], real({count}, expected));
  });
}

TEST_CASE("dropout keeps the share of elements that the rate says") {
  constexpr int64_t count = 100000;
  for_each_backend([](const Backend& backend) {
    for (const double rate : {0.1, 0.5, 0.9}) {
      CAPTURE(rate);
      const Real real{ATTN_F32};
      const Operation operation = dropout(0, rate)
                                      .input(filled(ATTN_F32, {count}, 1))
                                      .input(random_tensor)
                                      .output(real.output({count}));
      const Values values = backend.run(operation)[0].values;
      double kept = 0;
      for (const double value : values) kept += value != 0 ? 1 : 0;
      const double deviation = std::sqrt(count * rate * (1 - rate));
      CHECK(std::abs(kept - count * (1 - rate)) < 5 * deviation);
    }
  });
}

TEST_CASE("another seed, step or stream gives another dropout mask") {
  for_each_backend([](const Backend& backend) {
    const Real real{ATTN_F32};
    const auto mask = [&](uint32_t stream, const Tensor& random) {
      return backend
          .run(dropout(stream, 0.5)
                   .input(filled(ATTN_F32, {256}, 1))
                   .input(random)
                   .output(real.output({256})))[0]
          .values;
    };
    const Values first = mask(1, random_tensor);
    CHECK(mask(1, random_tensor) == first);
    CHECK(mask(2, random_tensor) != first);
    for (int word = 0; word < 4; ++word) {
      Tensor other = random_tensor;
      other.values[word] += 1;
      CHECK(mask(1, other) != first);
    }
  });
}

TEST_CASE("with rate 0 dropout is a copy and needs no random tensor") {
  for_each_backend_and_type([](const Backend& backend, const Real& real) {
    for (const Tensor& random : {absent(), random_tensor}) {
      const Operation operation =
          dropout(3, 0).input(real({3}, {1, -2, 3})).input(random).output(real.output({3}));
      check_equal(backend.run(operation)[0], real({3}, {1, -2, 3}));
    }
  });
}
