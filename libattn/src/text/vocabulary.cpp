#include "attn/text/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include "attn/core/error.h"
#include "attn/core/sha256.h"

namespace attn {
namespace {

const std::array<std::string, 4>& special_names() {
  static const std::array<std::string, 4> names = {"<unk>", "<pad>", "<bos>", "<eos>"};
  return names;
}

std::string escape(std::string_view token) {
  std::string escaped;
  for (const char c : token) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F || c == '\\') {
      escaped += fmt::format("\\x{:02x}", byte);
    } else {
      escaped.push_back(c);
    }
  }
  return escaped;
}

std::string unescape(std::string_view escaped) {
  std::string token;
  for (std::size_t i = 0; i < escaped.size(); ++i) {
    if (escaped[i] != '\\') {
      token.push_back(escaped[i]);
      continue;
    }
    const std::string_view digits = escaped.substr(std::min(i + 2, escaped.size()), 2);
    unsigned byte = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (escaped.substr(i, 2) != "\\x" || digits.size() != 2 || error != std::errc() ||
        end != digits.data() + digits.size()) {
      fail(ExitCode::input_data, "the vocabulary entry '{}' has a backslash that does not begin \\xHH",
           escaped);
    }
    token.push_back(static_cast<char>(byte));
    i += 3;
  }
  return token;
}

}  // namespace

void TokenCounts::add(const std::string& token, std::size_t count) {
  const auto [entry, inserted] = positions_.try_emplace(token, counts_.size());
  if (inserted) counts_.push_back({&entry->first, 0});
  counts_[entry->second].count += count;
}

void TokenCounts::add(std::span<const std::string> tokens) {
  for (const std::string& token : tokens) add(token, 1);
}

void TokenCounts::add(const TokenCounts& later) {
  for (const auto& [token, count] : later.counts_) add(*token, count);
}

Vocabulary Vocabulary::build(std::span<const std::vector<std::string>> sentences, std::size_t min_frequency,
                             std::optional<std::size_t> max_size) {
  TokenCounts counts;
  for (const auto& sentence : sentences) counts.add(sentence);
  return build(counts, min_frequency, max_size);
}

Vocabulary Vocabulary::build(const TokenCounts& token_counts, std::size_t min_frequency,
                             std::optional<std::size_t> max_size) {
  if (max_size && *max_size <= static_cast<std::size_t>(special_count)) {
    fail(ExitCode::config,
         "a vocabulary of at most {} entries has no room beside the {} special tokens; allow 5 or more",
         *max_size, special_count);
  }
  auto counts = token_counts.counts_;
  std::stable_sort(counts.begin(), counts.end(),
                   [](const auto& a, const auto& b) { return a.count > b.count; });
  Vocabulary vocabulary;
  for (const auto& [token, count] : counts) {
    if (count < min_frequency || (max_size && vocabulary.size() == *max_size)) break;
    if (!token->empty()) vocabulary.append(*token);
  }
  return vocabulary;
}

Vocabulary Vocabulary::from_tokens(std::span<const std::string> tokens) {
  Vocabulary vocabulary;
  for (const std::string& token : tokens) vocabulary.append(token);
  return vocabulary;
}

Vocabulary Vocabulary::from_escaped_tokens(std::span<const std::string> escaped) {
  Vocabulary vocabulary;
  for (const std::string& token : escaped) vocabulary.append(unescape(token));
  return vocabulary;
}

void Vocabulary::append(std::string token) {
  const auto next_id = static_cast<std::int32_t>(size());
  if (token.empty()) fail(ExitCode::input_data, "vocabulary entry {} is empty", next_id);
  const auto [entry, inserted] = ids_.try_emplace(token, next_id);
  if (!inserted) {
    fail(ExitCode::input_data, "vocabulary entry {} repeats '{}', which is entry {}", next_id, escape(token),
         entry->second);
  }
  tokens_.push_back(std::move(token));
}

std::vector<std::string> Vocabulary::to_escaped_tokens() const {
  std::vector<std::string> escaped;
  escaped.reserve(tokens_.size());
  for (const std::string& token : tokens_) escaped.push_back(escape(token));
  return escaped;
}

std::int32_t Vocabulary::id(std::string_view token) const {
  const auto entry = ids_.find(token);
  return entry == ids_.end() ? unk : entry->second;
}

const std::string& Vocabulary::token(std::int32_t id) const {
  if (id < 0 || static_cast<std::size_t>(id) >= size()) {
    fail(ExitCode::internal, "token id {} is outside the vocabulary of {} entries", id, size());
  }
  return is_special(id) ? special_names()[static_cast<std::size_t>(id)]
                        : tokens_[static_cast<std::size_t>(id - special_count)];
}

std::vector<std::int32_t> Vocabulary::encode(std::span<const std::string> tokens) const {
  std::vector<std::int32_t> ids;
  ids.reserve(tokens.size());
  for (const std::string& token : tokens) ids.push_back(id(token));
  return ids;
}

std::vector<std::string> Vocabulary::decode(std::span<const std::int32_t> ids) const {
  std::vector<std::string> tokens;
  for (const std::int32_t id : ids) {
    if (id == eos) break;
    if (id != pad && id != bos) tokens.push_back(token(id));
  }
  return tokens;
}

Coverage Vocabulary::coverage(std::span<const std::vector<std::string>> sentences) const {
  Coverage coverage;
  for (const auto& sentence : sentences) {
    coverage.tokens += sentence.size();
    for (const std::string& token : sentence) coverage.unknown += id(token) == unk ? 1 : 0;
  }
  return coverage;
}

std::string Vocabulary::fingerprint() const {
  Sha256 hash;
  hash.update(std::uint64_t{tokens_.size()});
  for (const std::string& token : tokens_) hash.update(std::uint64_t{token.size()}).update(token);
  return hash.hex_digest();
}

void require_coverage(const Vocabulary& vocabulary, std::span<const std::vector<std::string>> sentences,
                      std::string_view description, std::size_t min_frequency) {
  require_coverage(vocabulary, vocabulary.coverage(sentences), description, min_frequency);
}

void require_coverage(const Vocabulary& vocabulary, const Coverage& coverage, std::string_view description,
                      std::size_t min_frequency) {
  if (coverage.unknown < coverage.tokens) return;
  fail(ExitCode::input_data,
       "the vocabulary ({} entries, minimum frequency {}) knows none of the {} tokens of {}; lower the "
       "minimum "
       "frequency or use more text",
       vocabulary.size(), min_frequency, coverage.tokens, description);
}

}  // namespace attn
