#include "selection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "attn/core/error.h"

namespace attn::dump {
namespace {

constexpr std::size_t longest_range = 10'000'000;

struct Range {
  std::size_t first = 0, last = 0;
};

std::optional<std::size_t> number(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

Range range(std::string_view text, const std::string& option) {
  const std::size_t dash = text.find('-');
  const auto first = number(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : number(text.substr(dash + 1));
  if (!first || !last || *last < *first || *last - *first > longest_range) {
    fail(ExitCode::usage, "{}: '{}' is neither a number nor a range such as 0-3", option, text);
  }
  return {*first, *last};
}

std::vector<Range> ranges(std::string_view text, const std::string& option) {
  std::vector<Range> found;
  while (true) {
    const std::size_t comma = text.find(',');
    found.push_back(range(text.substr(0, comma), option));
    if (comma == std::string_view::npos) return found;
    text.remove_prefix(comma + 1);
  }
}

std::string name_of_tokens(std::string_view path, bool predicts) {
  if (path.find("source") != std::string_view::npos) return "source";
  return predicts ? "target" : "decoder input";
}

}  // namespace

std::vector<std::size_t> number_list(std::string_view text, const std::string& option,
                                     const std::string& what, std::size_t count) {
  std::vector<std::size_t> numbers;
  for (const Range& part : ranges(text, option)) {
    if (part.last >= count) {
      fail(ExitCode::usage, "{}: there is no {} {}; {}", option, what, std::max(part.first, count),
           count == 0 ? "there are none" : fmt::format("they are counted from 0 to {}", count - 1));
    }
    for (std::size_t i = part.first; i <= part.last; ++i) numbers.push_back(i);
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

std::vector<std::size_t> chosen_places(std::string_view text, const std::string& option,
                                       const std::string& what, std::span<const std::int32_t> there) {
  std::vector<std::size_t> places;
  if (text.empty()) {
    for (std::size_t i = 0; i < there.size(); ++i) places.push_back(i);
    return places;
  }
  for (const Range& part : ranges(text, option)) {
    for (std::size_t wanted = part.first; wanted <= part.last; ++wanted) {
      const auto place = std::find_if(there.begin(), there.end(), [wanted](std::int32_t number) {
        return number >= 0 && static_cast<std::size_t>(number) == wanted;
      });
      if (place == there.end()) {
        fail(ExitCode::usage, "{}: there is no {} {} in this archive; there are {}", option, what, wanted,
             fmt::join(there, ", "));
      }
      places.push_back(static_cast<std::size_t>(place - there.begin()));
    }
  }
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

AttentionKind chosen_kind(const AttentionArchive& archive, std::string_view name) {
  const auto kind = attention_kind(name);
  if (kind && archive.has(*kind)) return *kind;
  std::vector<std::string_view> names;
  for (const AttentionKind there : archive.kinds()) names.emplace_back(name_of(there));
  fail(ExitCode::usage, "{} has no attention of kind '{}'; it has {}", archive.file_name(), name,
       fmt::join(names, ", "));
}

std::string title_of(AttentionKind kind) {
  switch (kind) {
    case AttentionKind::encoder_self:
      return "encoder self-attention";
    case AttentionKind::decoder_self:
      return "decoder self-attention";
    case AttentionKind::cross:
      return "cross attention";
    case AttentionKind::rnn_cross:
      return "cross attention of the recurrent decoder";
  }
  return name_of(kind);
}

AxisTitles axis_titles(const AttentionArchive::KindInfo& info) {
  return {name_of_tokens(info.query_tokens, info.query_row == "predicts"),
          name_of_tokens(info.key_tokens, false)};
}

}  // namespace attn::dump
