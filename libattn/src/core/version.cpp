#include "attn/core/version.h"

namespace attn {

const char* version() noexcept {
  return "0.1.0";
}

}  // namespace attn
