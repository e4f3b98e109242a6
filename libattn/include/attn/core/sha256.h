#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;  // of OpenSSL, which uses the processor's instructions for it

namespace attn {

/// SHA-256 of a byte stream (FIPS 180-4), for fingerprints of vocabularies, corpora and files.
class Sha256 {
 public:
  Sha256();
  /// A copy goes on from the same bytes.
  Sha256(const Sha256& other);
  Sha256& operator=(const Sha256& other);
  Sha256(Sha256&&) noexcept = default;
  Sha256& operator=(Sha256&&) noexcept = default;
  ~Sha256() = default;

  /// Appends bytes to the message.
  Sha256& update(std::string_view bytes);

  /// Appends a number as eight little-endian bytes, so that lengths can frame variable-sized parts.
  Sha256& update(std::uint64_t number);

  /// Ends the message and returns its digest as 64 lower-case hexadecimal digits; the object must not be used
  /// afterwards.
  std::string hex_digest();

 private:
  struct Release {
    void operator()(evp_md_ctx_st* context) const noexcept;
  };
  std::unique_ptr<evp_md_ctx_st, Release> context_;
};

/// The SHA-256 of `bytes` as 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

}  // namespace attn
