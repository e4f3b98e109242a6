#pragma once
#include <string_view>

namespace attn::cli {

/// Writes to a descriptor for messages; a failure is ignored, since there is nowhere left to report it.
void write_all(int descriptor, std::string_view text) noexcept;

}  // namespace attn::cli
