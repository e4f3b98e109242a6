#include "attn/core/sha256.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>

#include "attn/core/error.h"

namespace attn {
namespace {

// OpenSSL fails here for want of memory, or where its configuration forbids the algorithm.
void require(int success) {
  if (success != 1) fail(ExitCode::internal, "the SHA-256 of OpenSSL cannot be used");
}

}  // namespace

void Sha256::Release::operator()(evp_md_ctx_st* context) const noexcept {
  EVP_MD_CTX_free(context);
}

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  require(context_ != nullptr ? EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) : 0);
}

Sha256::Sha256(const Sha256& other) : Sha256() {
  *this = other;
}

Sha256& Sha256::operator=(const Sha256& other) {
  if (this != &other) require(EVP_MD_CTX_copy_ex(context_.get(), other.context_.get()));
  return *this;
}

Sha256& Sha256::update(std::string_view bytes) {
  require(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()));
  return *this;
}

Sha256& Sha256::update(std::uint64_t number) {
  std::array<char, 8> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<char>(static_cast<unsigned char>(number >> (8 * i)));
  return update(std::string_view(bytes.data(), bytes.size()));
}

std::string Sha256::hex_digest() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  require(EVP_DigestFinal_ex(context_.get(), digest.data(), &size));
  std::string text;
  for (unsigned int i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

std::string sha256_hex(std::string_view bytes) {
  return Sha256().update(bytes).hex_digest();
}

}  // namespace attn
