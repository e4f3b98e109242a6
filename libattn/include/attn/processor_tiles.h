#pragma once
/*
 * Whether this process may use the matrix tiles (AMX) of an x86-64 processor. The program asks before it
 * loads a plugin that needs them, and the plugin asks before it uses them. With internal linkage, so that
 * every caller has a copy for its own instruction set.
 */
#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace attn {

/// True if the processor has tiles of bfloat16 numbers and AVX512-BF16, and the operating system lets this
/// process use the tiles; the permission is asked for, and is then the whole process's, threads included.
[[maybe_unused]] static bool processor_tiles_granted() {
#if defined(__x86_64__) && defined(__linux__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  constexpr unsigned amx_bf16 = 1U << 22, amx_tile = 1U << 24;
  if ((d & amx_bf16) == 0 || (d & amx_tile) == 0) return false;
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d) == 0) return false;
  constexpr unsigned avx512_bf16 = 1U << 5;
  if ((a & avx512_bf16) == 0) return false;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return false;
  constexpr unsigned os_uses_xsave = 1U << 27;
  if ((c & os_uses_xsave) == 0) return false;
  unsigned saved = 0, upper = 0;
  __asm__ volatile("xgetbv" : "=a"(saved), "=d"(upper) : "c"(0));
  constexpr unsigned tile_state = 3U << 17;
  if ((saved & tile_state) != tile_state) return false;
  constexpr long request_permission = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
#else
  return false;
#endif
}

}  // namespace attn
