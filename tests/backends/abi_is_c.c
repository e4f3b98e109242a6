/* The headers of the backend boundary must compile as C11, with every warning on: a plugin may be plain C. */
#define ATTN_BUILDING_PLUGIN
#include "abi_is_c.h"

#include "attn/backend_abi.h"
#include "attn/op_kinds.h"
#include "attn/philox.h"

uint32_t c_sees_table_size(void) {
  return (uint32_t)sizeof(attn_backend);
}

uint32_t c_sees_matmul_params_size(void) {
  return (uint32_t)sizeof(attn_matmul_params);
}

void c_draws_dropout_block(const int32_t random[4], uint32_t stream, uint64_t block, uint32_t out[4]) {
  attn_dropout_block(random, stream, block, out);
}

int32_t c_finds_elapsed(const attn_backend* table) {
  return ATTN_HAS(table, attn_backend, elapsed) ? 1 : 0;
}
