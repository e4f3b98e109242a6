#ifndef OUTSIDE_PLUGIN_H
#define OUTSIDE_PLUGIN_H
/* What the two files of this plugin share. */
#include <attn/backend_abi.h>
#include <attn/op_kinds.h>

typedef struct kernel_row {
  uint32_t kind;
  int inputs; /* -1: one or more */
  int outputs;
  int optional_input; /* the input that may be absent, or -1 */
  int needs_params;
  void (*run)(const attn_op*);
} kernel_row;

/* NULL for what this plugin does not have. */
const kernel_row* find_kernel(uint32_t kind);

/* Bytes of one element, 0 for an unknown type. */
static inline size_t element_size(int32_t dtype) {
  switch (dtype) {
    case ATTN_F64:
      return 8;
    case ATTN_F32:
    case ATTN_I32:
      return 4;
    case ATTN_BF16:
      return 2;
    case ATTN_I8:
      return 1;
    default:
      return 0;
  }
}

#endif
