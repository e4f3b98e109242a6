#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "attn/runtime/random.h"
#include "support/catch.h"

using namespace attn;

TEST_CASE("Philox4x32-10 gives the published known answers") {
  // kat_vectors of Random123 (Salmon et al., 2011): philox4x32, 10 rounds
  struct Answer {
    std::uint32_t counter[4], key[2], expected[4];
  };
  const Answer answers[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
       {0xffffffff, 0xffffffff},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (const Answer& answer : answers) {
    std::uint32_t found[4];
    attn_philox4x32_10(answer.counter, answer.key, found);
    CHECK(std::equal(found, found + 4, answer.expected));
  }
}

TEST_CASE("a random sequence is the blocks of Philox from the hash of its name") {
  RandomSequence random(0x0123456789ABCDEFu, "");
  const std::uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a of nothing
  for (std::uint32_t block = 0; block < 3; ++block) {
    const std::uint32_t counter[4] = {block, 0, static_cast<std::uint32_t>(hash),
                                      static_cast<std::uint32_t>(hash >> 32)};
    const std::uint32_t key[2] = {0x89ABCDEFu, 0x01234567u};
    std::uint32_t expected[4];
    attn_philox4x32_10(counter, key, expected);
    for (const std::uint32_t word : expected) CHECK(random.next_word() == word);
  }
}

TEST_CASE("a random sequence depends on its seed and its name, and on nothing else") {
  const auto words = [](std::uint64_t seed, std::string_view name) {
    RandomSequence random(seed, name);
    std::vector<std::uint32_t> result(16);
    for (auto& word : result) word = random.next_word();
    return result;
  };
  CHECK(words(1, "a") == words(1, "a"));
  CHECK(words(1, "a") != words(2, "a"));
  CHECK(words(1, "a") != words(1, "b"));
  CHECK(words(1, "a") != words(1 + (std::uint64_t{1} << 40), "a"));
}

TEST_CASE("uniform numbers fill [0, 1) evenly") {
  RandomSequence random(3, "uniform");
  std::vector<int> bins(10);
  double sum = 0;
  constexpr int count = 100000;
  for (int i = 0; i < count; ++i) {
    const double value = random.uniform();
    REQUIRE(value >= 0.0);
    REQUIRE(value < 1.0);
    ++bins[static_cast<std::size_t>(value * 10)];
    sum += value;
  }
  CHECK(sum / count == Approx(0.5).margin(0.005));
  double chi_square = 0;
  for (const int bin : bins) chi_square += (bin - count / 10) * (bin - count / 10) / (count / 10.0);
  CHECK(chi_square < 27.9);  // 9 degrees of freedom, probability 0.001
}

TEST_CASE("numbers below a bound reach all of it and nothing else") {
  RandomSequence random(4, "below");
  std::map<std::uint64_t, int> counts;
  for (int i = 0; i < 7000; ++i) ++counts[random.below(7)];
  CHECK(counts.size() == 7);
  CHECK(counts.rbegin()->first == 6);
  for (const auto& [value, count] : counts) CHECK(count == Approx(1000).margin(150));
  CHECK(random.below(1) == 0);
  for (int i = 0; i < 100; ++i) CHECK(random.below((std::uint64_t{1} << 63) + 1) <= (std::uint64_t{1} << 63));
}

TEST_CASE("normal numbers have the moments of the normal distribution") {
  RandomSequence random(5, "normal");
  constexpr std::int64_t count = 100000;
  const auto values = normal_values(random, count, 2.0);
  REQUIRE(values.size() == count);
  double moments[5] = {};
  for (const double value : values) {
    for (int power = 1; power <= 4; ++power) moments[power] += std::pow(value / 2.0, power) / count;
  }
  CHECK(moments[1] == Approx(0.0).margin(0.015));
  CHECK(moments[2] == Approx(1.0).margin(0.025));
  CHECK(moments[3] == Approx(0.0).margin(0.06));
  CHECK(moments[4] == Approx(3.0).margin(0.15));
}

TEST_CASE("uniform values stay within their limit") {
  RandomSequence random(6, "limit");
  const auto values = uniform_values(random, 10000, 0.25);
  REQUIRE(values.size() == 10000);
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  CHECK(*least >= -0.25);
  CHECK(*least < -0.249);
  CHECK(*most < 0.25);
  CHECK(*most > 0.249);
  CHECK(std::accumulate(values.begin(), values.end(), 0.0) / 10000 == Approx(0.0).margin(0.006));
}

TEST_CASE("dropout of rate p drops words below p") {
  CHECK(attn_dropout_threshold(0.0) == 0u);
  CHECK(attn_dropout_threshold(0.5) == 0x80000000u);
  CHECK(attn_dropout_threshold(0.25) == 0x40000000u);
}
