#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// The parts of `text` between Unicode white space, as Python's str.split() gives them.
std::vector<std::string> split_at_white_space(std::string_view text);

/// `text` without white space at its end, as Python's str.rstrip() gives it.
std::string_view without_trailing_space(std::string_view text);

}  // namespace attn
