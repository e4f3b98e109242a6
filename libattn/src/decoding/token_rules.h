#pragma once
// Which tokens a search may take next, by the constraints of SearchOptions and a prefix.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attn/decoding/search.h"

namespace attn {

/// What one row may take at its next step.
struct TokenRules {
  std::optional<std::int32_t> forced;  ///< this token, whatever else is said
  std::vector<std::int32_t> banned;    ///< by rising id, each once
  bool bans(std::int32_t token) const;
};

/// The rules for what follows `tokens` (without <bos>) in a translation that begins with `prefix`.
TokenRules next_token_rules(const SearchOptions& options, std::span<const std::int32_t> tokens,
                            std::span<const std::int32_t> prefix);

}  // namespace attn
