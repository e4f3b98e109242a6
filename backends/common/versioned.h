#pragma once
// Structs that begin with `uint32_t struct_size` may be longer or shorter than the one this plugin was
// compiled with: only the bytes that both sides know are read or written.
#include <algorithm>
#include <cstdint>
#include <cstring>

namespace attn::backend {

/// The peer's struct as far as it goes; fields that the peer does not have keep the value of `defaults`.
template<typename Struct>
Struct load_versioned(const void* from, Struct defaults = {}) {
  uint32_t size = 0;
  std::memcpy(&size, from, sizeof size);
  std::memcpy(&defaults, from, std::min<std::size_t>(size, sizeof(Struct)));
  return defaults;
}

/// Fills in the peer's struct as far as it goes; its struct_size stays.
template<typename Struct>
void store_versioned(Struct* to, Struct value) {
  value.struct_size = to->struct_size;
  std::memcpy(to, &value, std::min<std::size_t>(to->struct_size, sizeof(Struct)));
}

}  // namespace attn::backend
