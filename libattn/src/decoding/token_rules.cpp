#include "decoding/token_rules.h"

#include <algorithm>

#include "attn/text/vocabulary.h"

namespace attn {
namespace {

// The tokens that followed earlier occurrences of the last size - 1 tokens.
void add_repeating_tokens(std::span<const std::int32_t> tokens, std::size_t size,
                          std::vector<std::int32_t>& banned) {
  if (tokens.size() < size) return;
  const auto last = tokens.last(size - 1);
  for (std::size_t begin = 0; begin + size <= tokens.size(); ++begin) {
    const auto earlier = tokens.subspan(begin, size - 1);
    if (std::equal(earlier.begin(), earlier.end(), last.begin())) banned.push_back(tokens[begin + size - 1]);
  }
}

}  // namespace

bool TokenRules::bans(std::int32_t token) const {
  return std::binary_search(banned.begin(), banned.end(), token);
}

TokenRules next_token_rules(const SearchOptions& options, std::span<const std::int32_t> tokens,
                            std::span<const std::int32_t> prefix) {
  TokenRules rules;
  if (tokens.size() < prefix.size()) {
    rules.forced = prefix[tokens.size()];
    return rules;
  }
  if (static_cast<std::int64_t>(tokens.size()) + 1 < options.min_length)
    rules.banned.push_back(Vocabulary::eos);
  if (options.no_repeat_ngram > 0)
    add_repeating_tokens(tokens, static_cast<std::size_t>(options.no_repeat_ngram), rules.banned);
  std::sort(rules.banned.begin(), rules.banned.end());
  rules.banned.erase(std::unique(rules.banned.begin(), rules.banned.end()), rules.banned.end());
  return rules;
}

}  // namespace attn
