#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace attn {

/// SHA-256 of a byte stream (FIPS 180-4), for fingerprints of vocabularies, corpora and files.
class Sha256 {
 public:
  Sha256();

  /// Appends bytes to the message.
  Sha256& update(std::string_view bytes);

  /// Appends a number as eight little-endian bytes, so that lengths can frame variable-sized parts.
  Sha256& update(std::uint64_t number);

  /// Ends the message and returns its digest as 64 lower-case hexadecimal digits; the object must not be used
  /// afterwards.
  std::string hex_digest();

 private:
  void process_block(const unsigned char* block);

  std::array<std::uint32_t, 8> state_;
  std::array<unsigned char, 64> block_{};
  std::size_t filled_ = 0;
  std::uint64_t length_ = 0;
};

/// The SHA-256 of `bytes` as 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

}  // namespace attn
