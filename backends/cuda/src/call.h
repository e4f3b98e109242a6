#pragma once
// What the host's part of an operation works with.
#include <cstddef>
#include <cstdint>

#include "attn/op_kinds.h"
#include "common/op_view.h"
#include "id_fault.h"
#include "runtime.h"

namespace attn::cuda {

using backend::columns;
using backend::data;
using backend::Dims;
using backend::dims;
using backend::elements;
using backend::is_present;
using backend::leading;
using backend::OpView;
using backend::rows;

/// One operation on its way to the device.
struct Call {
  cudaStream_t stream;
  cublasHandle_t cublas;
  cublasComputeType_t f32_products;  // how exactly products of f32 matrices are computed
  void* workspace;
  IdFault* id_fault;  // of the device's memory
  int op_index;
  uint32_t op_kind;

  template<typename T>
  T* workspace_as() const {
    return static_cast<T*>(workspace);
  }
  IdCheck id_check(int64_t rows) const { return {id_fault, op_index, op_kind, rows}; }
};

/// NULL for an optional tensor that is absent.
template<typename T>
T* optional_data(const attn_tensor& tensor) {
  return is_present(tensor) ? data<T>(tensor) : nullptr;
}

}  // namespace attn::cuda
