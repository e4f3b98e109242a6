// The plugin's entry, and the check that this processor can run the rest of it. Compiled without the
// instruction set of the other files, and without inline functions that it would share with them.
#include <cstdio>

#include "attn/processor_tiles.h"
#include "plugin.h"

namespace attn::eigen::plugin {
namespace {

// What of the instruction set this processor lacks; NULL if nothing. The x86-64 levels are those of the
// System V ABI, and 5 is level 4 with AMX; each check also covers the features that come only together with
// those named.
const char* missing_feature() {
#if ATTN_EIGEN_LEVEL >= 2
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("ssse3")) return "SSSE3";
  if (!__builtin_cpu_supports("sse4.2")) return "SSE4.2";
  if (!__builtin_cpu_supports("popcnt")) return "POPCNT";
#endif
#if ATTN_EIGEN_LEVEL >= 3
  if (!__builtin_cpu_supports("avx2")) return "AVX2";
  if (!__builtin_cpu_supports("fma")) return "FMA";
  if (!__builtin_cpu_supports("bmi")) return "BMI1";
  if (!__builtin_cpu_supports("bmi2")) return "BMI2";
#endif
#if ATTN_EIGEN_LEVEL >= 4
  if (!__builtin_cpu_supports("avx512f")) return "AVX-512F";
  if (!__builtin_cpu_supports("avx512bw")) return "AVX-512BW";
  if (!__builtin_cpu_supports("avx512cd")) return "AVX-512CD";
  if (!__builtin_cpu_supports("avx512dq")) return "AVX-512DQ";
  if (!__builtin_cpu_supports("avx512vl")) return "AVX-512VL";
#endif
#if ATTN_EIGEN_LEVEL >= 5
  if (attn_processor_tiles_granted() == 0) return "AMX tiles of bfloat16, or the permission to use them";
#endif
  return nullptr;
}

void set_error(attn_error* error, attn_status status, const char* feature) {
  if (error == nullptr) return;
  error->status = status;
  error->op_index = -1;
  error->message[0] = '\0';
  if (feature != nullptr) {
    std::snprintf(error->message, sizeof error->message,
                  "this processor lacks %s, which the eigen plugin for " ATTN_EIGEN_ISA " needs", feature);
  }
}

std::int32_t device_count(attn_error* error) {
  const char* feature = missing_feature();
  set_error(error, feature != nullptr ? ATTN_NO_DEVICE : ATTN_OK, feature);
  return feature != nullptr ? 0 : 1;
}

attn_status checked_device_info(std::int32_t device, attn_device_info* info, attn_error* error) {
  if (device_count(error) == 0) return ATTN_NO_DEVICE;
  return device_info(device, info, error);
}

attn_status checked_open(const attn_options* options, attn_context** context, attn_error* error) {
  if (device_count(error) == 0) return ATTN_NO_DEVICE;
  return open(options, context, error);
}

constexpr attn_backend table = {
    sizeof(attn_backend),
    ATTN_ABI_MAJOR,
    ATTN_ABI_MINOR,
    "eigen",
    ATTN_BACKEND_VERSION,
    "Processor backend with vectorised, fused operations on several threads (" ATTN_EIGEN_ISA ")",
    device_count,
    checked_device_info,
    checked_open,
    close,
    allocate,
    release,
    transfer,  // the device's memory is the host's: upload and download are both a copy
    transfer,
    query,
    run,
    synchronize,
    elapsed,
};

}  // namespace
}  // namespace attn::eigen::plugin

const attn_backend* attn_backend_get(const attn_host* /*host*/) {
  return &attn::eigen::plugin::table;
}
