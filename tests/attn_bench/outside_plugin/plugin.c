/*
 * A complete backend in plain C, built with the installed headers alone: all primitives, for every type, in
 * plain loops. Elements are read and written one by one as double, so that each operation is written once.
 * Fused operations are left to the host.
 *
 *     cc -std=c11 -O2 -shared -fPIC -fvisibility=hidden -DATTN_BUILDING_PLUGIN plugin.c -o
 * libattn-backend-outside.so -lm
 */
#include "plugin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct attn_context {
  int32_t device;
};

static attn_status answer(attn_error* error, attn_status status, int32_t op_index, const char* message) {
  if (error != NULL) {
    error->status = status;
    error->op_index = op_index;
    snprintf(error->message, sizeof error->message, "%s", message);
  }
  return status;
}

/* ---- devices */

static int32_t device_count(attn_error* error) {
  answer(error, ATTN_OK, -1, "");
  return 1;
}

/* No more of the struct than the caller, who may be older, has. */
static attn_status device_info(int32_t device, attn_device_info* info, attn_error* error) {
  if (device != 0) return answer(error, ATTN_NO_DEVICE, -1, "there is device 0 alone");
  attn_device_info result = {.struct_size = info->struct_size,
                             .host_accessible = 1,
                             .memory_total = (size_t)1 << 30,
                             .memory_free = (size_t)1 << 30,
                             .alignment = 64,
                             .name = "CPU",
                             .detail = "one thread"};
  memcpy(info, &result, info->struct_size < sizeof result ? info->struct_size : sizeof result);
  return answer(error, ATTN_OK, -1, "");
}

static attn_status open_context(const attn_options* options, attn_context** context, attn_error* error) {
  if (options->device != 0) return answer(error, ATTN_NO_DEVICE, -1, "there is device 0 alone");
  *context = calloc(1, sizeof **context);
  return *context != NULL ? answer(error, ATTN_OK, -1, "")
                          : answer(error, ATTN_OUT_OF_MEMORY, -1, "no memory for a context");
}

static void close_context(attn_context* context) {
  free(context);
}

/* ---- memory */

static attn_status allocate(attn_context* context, size_t bytes, void** data, attn_error* error) {
  (void)context;
  const size_t blocks = bytes / 64 + 1;
  *data = blocks < ((size_t)1 << 56) ? aligned_alloc(64, blocks * 64) : NULL;
  return *data != NULL ? answer(error, ATTN_OK, -1, "") : answer(error, ATTN_OUT_OF_MEMORY, -1, "no memory");
}

static void release(attn_context* context, void* data) {
  (void)context;
  free(data);
}

static attn_status transfer(attn_context* context, void* to, const void* from, size_t bytes,
                            attn_error* error) {
  (void)context;
  if (bytes > 0) memcpy(to, from, bytes);
  return answer(error, ATTN_OK, -1, "");
}

/* ---- operations */

/* NULL, or what is wrong with the descriptor in itself. */
static const char* malformed(const attn_op* op) {
  const int count = op->input_count + op->output_count;
  if (count > ATTN_MAX_TENSORS) return "an operation has at most 16 tensors";
  for (int i = 0; i < count; ++i) {
    const attn_tensor* tensor = &op->tensors[i];
    if (tensor->rank < -1 || tensor->rank > ATTN_MAX_RANK) return "a rank is not in -1 .. 6";
    if (tensor->rank >= 0 && element_size(tensor->dtype) == 0) return "a tensor has an unknown type";
    int64_t elements = 1;
    for (int axis = 0; axis < tensor->rank; ++axis) {
      const int64_t size = tensor->dims[axis];
      if (size < 0) return "a size is negative";
      if (size > 0 && elements > ((int64_t)1 << 56) / size) return "a tensor is too large to be addressed";
      elements *= size > 0 ? size : 1;
    }
  }
  return NULL;
}

static const char* why_not(const attn_op* op) {
  const char* reason = malformed(op);
  if (reason != NULL) return reason;
  const kernel_row* row = find_kernel(op->kind);
  if (row == NULL) return "this backend has primitives alone";
  if (row->inputs >= 0 ? op->input_count != row->inputs : op->input_count < 1)
    return "wrong number of inputs";
  if (op->output_count != row->outputs) return "wrong number of outputs";
  if (row->needs_params && op->params == NULL) return "the parameters are missing";
  for (int i = 0; i < op->input_count + op->output_count; ++i) {
    const int optional = i < op->input_count && i == row->optional_input;
    if (op->tensors[i].rank < 0 && !optional) return "a tensor is missing";
  }
  return NULL;
}

static attn_status query(attn_context* context, const attn_op* op, attn_support* support, attn_error* error) {
  (void)context;
  const char* reason = why_not(op);
  attn_support result = {.struct_size = support->struct_size, .supported = reason == NULL};
  snprintf(result.why_not, sizeof result.why_not, "%s", reason != NULL ? reason : "");
  memcpy(support, &result, support->struct_size < sizeof result ? support->struct_size : sizeof result);
  return answer(error, ATTN_OK, -1, "");
}

static attn_status run(attn_context* context, const attn_batch* batch, attn_error* error) {
  (void)context;
  for (uint32_t i = 0; i < batch->count; ++i) {
    const attn_op* op = &batch->ops[i];
    const char* reason = why_not(op);
    if (reason != NULL) return answer(error, ATTN_UNSUPPORTED, (int32_t)i, reason);
    find_kernel(op->kind)->run(op);
  }
  return answer(error, ATTN_OK, -1, "");
}

static attn_status synchronize(attn_context* context, attn_error* error) {
  (void)context;
  return answer(error, ATTN_OK, -1, "");
}

const attn_backend* attn_backend_get(const attn_host* host) {
  static const attn_backend table = {.struct_size = sizeof table,
                                     .abi_major = ATTN_ABI_MAJOR,
                                     .abi_minor = ATTN_ABI_MINOR,
                                     .name = "outside",
                                     .version = "1",
                                     .description = "Plain C, built outside of attn",
                                     .device_count = device_count,
                                     .device_info = device_info,
                                     .open = open_context,
                                     .close = close_context,
                                     .allocate = allocate,
                                     .release = release,
                                     .upload = transfer,
                                     .download = transfer,
                                     .query = query,
                                     .run = run,
                                     .synchronize = synchronize};
  (void)host;
  return &table;
}
