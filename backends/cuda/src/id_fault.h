#pragma once
// Ids and labels are data that only kernels see. One that names no row is noted in memory that the host can
// read, and the next wait for the stream fails with it; the kernel itself goes on without that row.
#include <cstdint>

namespace attn::cuda {

struct IdFault {
  int32_t occurred, op_index;
  uint32_t op_kind;
  int32_t id;
  int64_t position, rows;
};

/// What a kernel needs to judge ids; accepts() in device.cuh does.
struct IdCheck {
  IdFault* fault;
  int op_index;
  uint32_t op_kind;
  int64_t rows;
};

}  // namespace attn::cuda
