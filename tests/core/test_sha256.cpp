#include <string>

#include "attn/core/sha256.h"
#include "support/catch.h"

using namespace attn;

TEST_CASE("SHA-256 gives the digests of the standard's examples") {
  CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha256_hex(std::string(1'000'000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("SHA-256 does not depend on how the message is cut into updates") {
  const std::string message(200, 'x');
  Sha256 hash;
  for (std::size_t i = 0; i < message.size(); i += 7) hash.update(std::string_view(message).substr(i, 7));
  CHECK(hash.hex_digest() == sha256_hex(message));
}

TEST_CASE("SHA-256 takes numbers as eight little-endian bytes") {
  using namespace std::string_literals;
  CHECK(Sha256().update(std::uint64_t{0x0102}).hex_digest() == sha256_hex("\x02\x01\0\0\0\0\0\0"s));
}

TEST_CASE("a copy of a SHA-256 goes on by itself") {
  Sha256 digest;
  digest.update("a");
  Sha256 copy(digest);
  CHECK(copy.update("bc").hex_digest() == sha256_hex("abc"));
  copy = digest;
  CHECK(copy.hex_digest() == sha256_hex("a"));
  CHECK(digest.update("b").hex_digest() == sha256_hex("ab"));
}
