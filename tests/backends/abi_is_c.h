#pragma once
/* What the C translation unit of the tests says of the boundary, for comparison with what C++ sees. */
#include "attn/backend_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

uint32_t c_sees_table_size(void);
uint32_t c_sees_matmul_params_size(void);
void c_draws_dropout_block(const int32_t random[4], uint32_t stream, uint64_t block, uint32_t out[4]);
int32_t c_finds_elapsed(const attn_backend* table);

#ifdef __cplusplus
}
#endif
