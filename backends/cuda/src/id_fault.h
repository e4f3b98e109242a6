#pragma once
// Ids and labels are data that only kernels see. One that names no row is noted in memory that the host can
// read, and the next wait for the stream fails with it; the kernel itself goes on without that row.
#include <cstdint>

#include "runtime.h"

namespace attn::cuda {

struct IdFault {
  int32_t occurred, op_index;
  uint32_t op_kind;
  int32_t id;
  int64_t position, rows;
};

struct IdCheck {
  IdFault* fault;
  int op_index;
  uint32_t op_kind;
  int64_t rows;

  /// Whether `id`, at `position` of the ids, is a row of the table.
  __device__ bool accepts(int32_t id, int64_t position) const {
    if (id >= 0 && id < rows) return true;
    if (atomicCAS(&fault->occurred, 0, 1) == 0) {
      fault->op_index = op_index;
      fault->op_kind = op_kind;
      fault->id = id;
      fault->position = position;
      fault->rows = rows;
      __threadfence_system();
    }
    return false;
  }
};

}  // namespace attn::cuda
