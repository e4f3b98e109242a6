#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace attn {

/// A token and the bytes [begin, end) of the original text that it came from.
struct Token {
  std::string text;
  std::size_t begin = 0;
  std::size_t end = 0;

  friend bool operator==(const Token&, const Token&) = default;
};

/// A text put together from tokens.
struct JoinedText {
  std::string text;
  std::vector<Token> tokens;  ///< each with the bytes of `text` that it became
};

}  // namespace attn
