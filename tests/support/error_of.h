#pragma once
#include <optional>
#include <string>

#include "attn/core/error.h"

namespace attn::test {

/// The attn::Error that `action` throws, or nothing when it returns.
template<typename Action>
std::optional<Error> error_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

/// Whether `text` contains `part`.
inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace attn::test
