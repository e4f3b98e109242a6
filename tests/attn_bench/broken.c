/*
 * The reference plugin with one fault, which a check must find. BROKEN_PLUGIN is the name of the plugin, and
 * one of BREAK_MASK, BREAK_TAIL, BREAK_SIGN, BREAK_SUM, BREAK_GUARD, BREAK_INPUT, BREAK_PROMISE,
 * BREAK_LATE, BREAK_MEMORY is defined.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attn/backend_abi.h"
#include "attn/op_kinds.h"

static const attn_backend* original;

static inline int64_t elements(const attn_tensor* tensor) {
  int64_t count = 1;
  for (int axis = 0; axis < tensor->rank; ++axis) count *= tensor->dims[axis];
  return count;
}

static inline size_t element_size(const attn_tensor* tensor) {
  return tensor->dtype == ATTN_F64 ? 8 : 4;
}

static inline const attn_tensor* output_of(const attn_op* op) {
  return &op->tensors[op->input_count];
}

static attn_status run_original(attn_context* context, const attn_op* op, attn_error* error) {
  const attn_batch one = {.struct_size = sizeof one, .count = 1, .ops = op};
  return original->run(context, &one, error);
}

#if defined(BREAK_MASK)
/* Each row sees one key too many. */
static attn_status run_op(attn_context* context, const attn_op* op, attn_error* error) {
  if (op->kind != ATTN_OP_MASKED_SOFTMAX || op->tensors[1].rank < 0) return run_original(context, op, error);
  attn_tensor tensors[3] = {op->tensors[0], op->tensors[1], op->tensors[2]};
  const int64_t count = elements(&tensors[1]);
  int32_t* lengths = malloc((size_t)(count + 1) * sizeof *lengths);
  for (int64_t i = 0; i < count; ++i) lengths[i] = ((const int32_t*)tensors[1].data)[i] + 1;
  tensors[1].data = lengths;
  attn_op changed = *op;
  changed.tensors = tensors;
  const attn_status status = run_original(context, &changed, error);
  free(lengths);
  return status;
}
#elif defined(BREAK_TAIL)
/* What does not fill a vector of four is left as it was. */
static attn_status run_op(attn_context* context, const attn_op* op, attn_error* error) {
  if (op->kind != ATTN_OP_UNARY || op->tensors[0].data == output_of(op)->data)
    return run_original(context, op, error);
  const attn_tensor* y = output_of(op);
  const int64_t whole = elements(y) / 4 * 4;
  const size_t bytes = (size_t)(elements(y) - whole) * element_size(y);
  char kept[4 * 8];
  char* tail = (char*)y->data + (size_t)whole * element_size(y);
  memcpy(kept, tail, bytes);
  const attn_status status = run_original(context, op, error);
  memcpy(tail, kept, bytes);
  return status;
}
#elif defined(BREAK_SIGN)
/* A gradient that goes uphill. */
static attn_status run_op(attn_context* context, const attn_op* op, attn_error* error) {
  const attn_status status = run_original(context, op, error);
  if (op->kind != ATTN_OP_MASKED_SOFTMAX_GRADIENT) return status;
  const attn_tensor* y = output_of(op);
  for (int64_t i = 0; i < elements(y); ++i) {
    if (y->dtype == ATTN_F64)
      ((double*)y->data)[i] = -((double*)y->data)[i];
    else
      ((float*)y->data)[i] = -((float*)y->data)[i];
  }
  return status;
}
#elif defined(BREAK_SUM)
/* As if threads added their parts in the order in which they happen to end: now and then another last bit. */
static attn_status run_op(attn_context* context, const attn_op* op, attn_error* error) {
  static unsigned runs;
  const attn_status status = run_original(context, op, error);
  const attn_tensor* y = output_of(op);
  if (op->kind != ATTN_OP_REDUCE || elements(y) == 0 || runs++ % 2 == 0) return status;
  if (y->dtype == ATTN_F64)
    *(double*)y->data = nextafter(*(double*)y->data, 1e300);
  else
    *(float*)y->data = nextafterf(*(float*)y->data, 1e30f);
  return status;
}
#elif defined(BREAK_GUARD)
/* One element more than there is. */
static attn_status run_op(attn_context* context, const attn_op* op, attn_error* error) {
  const attn_status status = run_original(context, op, error);
  const attn_tensor* y = output_of(op);
  if (op->kind == ATTN_OP_AFFINE) memset((char*)y->data + (size_t)elements(y) * element_size(y), 0, 1);
  return status;
}
#elif defined(BREAK_INPUT)
/* The input serves as a scratch pad. */
static attn_status run_op(attn_context* context, const attn_op* op, attn_error* error) {
  const attn_status status = run_original(context, op, error);
  const attn_tensor* x = &op->tensors[0];
  if (op->kind == ATTN_OP_LOG_SUM_EXP && elements(x) > 0) memset(x->data, 0, element_size(x));
  return status;
}
#elif defined(BREAK_PROMISE)
/* What query accepted fails. */
static attn_status run_op(attn_context* context, const attn_op* op, attn_error* error) {
  if (op->kind != ATTN_OP_PERMUTE || elements(output_of(op)) < 100) return run_original(context, op, error);
  if (error != NULL) {
    error->status = ATTN_DEVICE_FAILED;
    snprintf(error->message, sizeof error->message, "too large after all");
  }
  return ATTN_DEVICE_FAILED;
}
#elif defined(BREAK_LATE)
/* Fails in the midst of training, after as many operations as ATTN_BROKEN_AFTER says. */
static attn_status run_op(attn_context* context, const attn_op* op, attn_error* error) {
  static long runs;
  const char* limit = getenv("ATTN_BROKEN_AFTER");
  if (limit == NULL || ++runs <= atol(limit)) return run_original(context, op, error);
  if (error != NULL) {
    error->status = ATTN_DEVICE_FAILED;
    snprintf(error->message, sizeof error->message, "the device fell off");
  }
  return ATTN_DEVICE_FAILED;
}
#elif defined(BREAK_MEMORY)
/* A device with little memory. */
static attn_status run_op(attn_context* context, const attn_op* op, attn_error* error) {
  return run_original(context, op, error);
}

static attn_status allocate_little(attn_context* context, size_t bytes, void** data, attn_error* error) {
  static size_t given;
  if ((given += bytes) <= 300000) return original->allocate(context, bytes, data, error);
  if (error != NULL) {
    error->status = ATTN_OUT_OF_MEMORY;
    error->op_index = -1;
    snprintf(error->message, sizeof error->message, "the device has 300000 bytes");
  }
  return ATTN_OUT_OF_MEMORY;
}
#endif

static attn_status run(attn_context* context, const attn_batch* batch, attn_error* error) {
  for (uint32_t i = 0; i < batch->count; ++i) {
    const attn_status status = run_op(context, &batch->ops[i], error);
    if (status == ATTN_OK) continue;
    if (error != NULL) error->op_index = (int32_t)i;
    return status;
  }
  return ATTN_OK;
}

const attn_backend* attn_backend_get(const attn_host* host) {
  static attn_backend table;
  if (original != NULL) return &table;
  void* library = dlopen(ATTN_REFERENCE_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    abort();
  }
  attn_backend_entry entry;
  *(void**)&entry = dlsym(library, ATTN_BACKEND_ENTRY_NAME);
  original = entry(host);
  table = *original;
  table.name = BROKEN_PLUGIN;
  table.run = run;
  table.elapsed = NULL;
#if defined(BREAK_MEMORY)
  table.allocate = allocate_little;
#endif
  return &table;
}
