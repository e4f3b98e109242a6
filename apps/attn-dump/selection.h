#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/inspection/attention_archive.h"

namespace attn::dump {

/// "0-3,7" as {0, 1, 2, 3, 7}: sorted, each once. `option` is named in the error (usage) about what is no
/// such list; a number that is not below `count` is an error that says "`what`" and which there are.
std::vector<std::size_t> number_list(std::string_view text, const std::string& option,
                                     const std::string& what, std::size_t count);

/// The places in `there` of the numbers in a list like number_list's; of all numbers where `text` is empty.
/// Throws Error (usage) naming `what` ("layer", "head") and the numbers that there are.
std::vector<std::size_t> chosen_places(std::string_view text, const std::string& option,
                                       const std::string& what, std::span<const std::int32_t> there);

/// The kind called `name` if the archive has it. Throws Error (usage) that names the kinds that it has.
AttentionKind chosen_kind(const AttentionArchive& archive, std::string_view name);

/// "encoder self-attention", ..., for people.
std::string title_of(AttentionKind kind);

/// What the axes of a kind's maps are: "source", "target", or "decoder input".
struct AxisTitles {
  std::string query, key;
};
AxisTitles axis_titles(const AttentionArchive::KindInfo& info);

}  // namespace attn::dump
