#include "attn/text/bpe_codes.h"

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <limits>
#include <unordered_map>
#include <utility>

#include "attn/core/error.h"
#include "attn/text/utf8.h"

namespace attn {
namespace {

constexpr std::string_view end_of_word = "</w>";
constexpr std::string_view version_mark = "#version: ";
constexpr std::size_t no_rank = std::numeric_limits<std::size_t>::max();

std::string_view trimmed(std::string_view line) {
  while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.remove_suffix(1);
  while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
  return line;
}

// A symbol of a word on its way, and the bytes of the word that it covers.
using Symbols = std::vector<Token>;

}  // namespace

struct BpeCodes::State {
  std::string bytes;
  bool end_is_symbol = false;  // version 0.1: the end of a word is a symbol of its own
  std::unordered_map<std::string, std::size_t> ranks;  // by both symbols with a blank between

  std::size_t rank(const Token& left, const Token& right) const {
    const auto found = ranks.find(left.text + ' ' + right.text);
    return found == ranks.end() ? no_rank : found->second;
  }
};

BpeCodes BpeCodes::from_bytes(std::string bytes, const std::string& name) {
  auto state = std::make_shared<State>();
  state->end_is_symbol = true;
  std::size_t number = 0, merges = 0;
  for (std::string_view rest = bytes; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = trimmed(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++number;
    if (number == 1 && line.starts_with(version_mark)) {
      const std::string_view version = line.substr(version_mark.size());
      if (version != "0.1" && version != "0.2") {
        fail(ExitCode::input_data, "{}:1: version '{}' of the codes is not known; expected 0.1 or 0.2", name,
             version);
      }
      state->end_is_symbol = version == "0.1";
      continue;
    }
    const std::size_t blank = line.find(' ');
    if (blank == 0 || blank == std::string_view::npos ||
        line.find(' ', blank + 1) != std::string_view::npos) {
      fail(ExitCode::input_data,
           "{}:{}: '{}' is no merge; expected two symbols with one blank between, as subword-nmt writes them",
           name, number, repair_utf8(line.substr(0, 80)).text);
    }
    state->ranks.try_emplace(std::string(line), merges++);
  }
  if (merges == 0) fail(ExitCode::input_data, "{} holds no merges of byte pair encoding", name);
  state->bytes = std::move(bytes);
  return BpeCodes(std::move(state));
}

BpeCodes BpeCodes::read(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    fail(ExitCode::file, "{} is a folder; expected codes of byte pair encoding", path.string());
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(ExitCode::file, "cannot open the codes {}", path.string());
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) fail(ExitCode::file, "cannot read the codes {}", path.string());
  return from_bytes(std::move(bytes), path.string());
}

const std::string& BpeCodes::bytes() const noexcept {
  return state_->bytes;
}

std::vector<Token> BpeCodes::split(std::string_view word) const {
  Symbols symbols;
  for (std::size_t offset = 0; offset < word.size();) {
    const DecodedCodePoint code_point = decode_code_point(word, offset);
    Token symbol{{}, offset, offset + code_point.length};
    append_utf8(symbol.text, code_point.value);
    symbols.push_back(std::move(symbol));
    offset += code_point.length;
  }
  const bool one_character = symbols.size() == 1;
  if (state_->end_is_symbol)
    symbols.push_back({std::string(end_of_word), word.size(), word.size()});
  else
    symbols.back().text += end_of_word;

  while (!one_character && symbols.size() > 1) {
    std::size_t best = 0, best_rank = no_rank;
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
      const std::size_t rank = state_->rank(symbols[i], symbols[i + 1]);
      if (rank >= best_rank) continue;
      best = i;
      best_rank = rank;
    }
    if (best_rank == no_rank) break;
    Symbols merged;
    for (std::size_t i = 0; i < symbols.size(); ++i) {
      const bool pair =
          i >= best && i + 1 < symbols.size() && state_->rank(symbols[i], symbols[i + 1]) == best_rank;
      merged.push_back(std::move(symbols[i]));
      if (!pair) continue;
      merged.back().text += symbols[i + 1].text;
      merged.back().end = symbols[i + 1].end;
      ++i;
    }
    symbols = std::move(merged);
  }

  if (symbols.back().text == end_of_word && symbols.size() > 1)
    symbols.pop_back();
  else
    symbols.back().text.resize(symbols.back().text.size() - end_of_word.size());
  for (std::size_t i = 0; i + 1 < symbols.size(); ++i) symbols[i].text += "@@";
  return symbols;
}

}  // namespace attn
