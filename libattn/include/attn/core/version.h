#pragma once

namespace attn {

/// The release, as "0.1.0".
const char* version() noexcept;

}  // namespace attn
