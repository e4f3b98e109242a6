#ifndef ATTN_PROCESSOR_TILES_H
#define ATTN_PROCESSOR_TILES_H
/*
 * Whether this process may use the matrix tiles (AMX) of an x86-64 processor. C, for the program, which asks
 * before it loads a plugin that needs them, and for the plugin, which asks before it uses them. Every caller
 * has a copy for its own instruction set.
 */
#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* 1 if the processor has AVX-512 BF16 and tiles of bfloat16 numbers, and the operating system lets this
 * process use the tiles, otherwise 0. The permission is asked for, and is then the whole process's, threads
 * included. */
static inline int attn_processor_tiles_granted(void) {
#if defined(__x86_64__) && defined(__linux__)
  const unsigned amx_bf16 = 1U << 22, amx_tile = 1U << 24, avx512_bf16 = 1U << 5, os_saves_state = 1U << 27;
  const unsigned tile_state = 3U << 17;
  const long request_permission = 0x1023, tile_data = 18; /* ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA */
  unsigned a = 0, b = 0, c = 0, d = 0, saved = 0, upper = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & os_saves_state) == 0) return 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & amx_bf16) == 0 || (d & amx_tile) == 0) return 0;
  if (!__get_cpuid_count(7, 1, &a, &b, &c, &d) || (a & avx512_bf16) == 0) return 0;
  __asm__ volatile("xgetbv" : "=a"(saved), "=d"(upper) : "c"(0));
  if ((saved & tile_state) != tile_state) return 0;
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
#else
  return 0;
#endif
}

#ifdef __cplusplus
}
#endif

#endif
