#pragma once
#include <cstddef>
#include <cstdint>

#include "attn/backend_abi.h"

namespace attn {

/// Element types; the values are those of the backend boundary.
enum class DType : std::int32_t {
  f32 = ATTN_F32,
  f64 = ATTN_F64,
  i32 = ATTN_I32,
  bf16 = ATTN_BF16,
  i8 = ATTN_I8
};

/// Bytes of one element.
constexpr std::size_t size_of(DType type) noexcept {
  switch (type) {
    case DType::f64:
      return 8;
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::bf16:
      return 2;
    case DType::i8:
      return 1;
  }
  return 0;
}

/// "f32", "f64", "i32", ...
constexpr const char* name_of(DType type) noexcept {
  switch (type) {
    case DType::f32:
      return "f32";
    case DType::f64:
      return "f64";
    case DType::i32:
      return "i32";
    case DType::bf16:
      return "bf16";
    case DType::i8:
      return "i8";
  }
  return "?";
}

/// The DType of a C++ element type.
template<typename T>
inline constexpr DType dtype_of = DType::f32;
template<>
inline constexpr DType dtype_of<double> = DType::f64;
template<>
inline constexpr DType dtype_of<std::int32_t> = DType::i32;

}  // namespace attn
