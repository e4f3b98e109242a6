/*
 * Fails in several ways: cannot open a second device, has little memory, does not know dropout, breaks its
 * word for argmax, and runs all else. HOST_ACCESSIBLE 0 makes the program queue operations.
 */
#include "host_plugin.h"

static int32_t two_devices(attn_error* error) {
  (void)error;
  return 2;
}

static attn_status open_first(const attn_options* options, attn_context** context, attn_error* error) {
  if (options->device == 1) return fail_with(error, ATTN_DEVICE_FAILED, "the device is busy");
  return open_context(options, context, error);
}

static attn_status allocate_little(attn_context* context, size_t bytes, void** data, attn_error* error) {
  if (bytes > 1 << 20) return fail_with(error, ATTN_OUT_OF_MEMORY, "the memory is full");
  return allocate(context, bytes, data, error);
}

static attn_status query_known(attn_context* context, const attn_op* op, attn_support* support,
                               attn_error* error) {
  if (op->kind != ATTN_OP_DROPOUT) return say_yes(context, op, support, error);
  support->supported = 0;
  snprintf(support->why_not, sizeof support->why_not, "dropout is not known here");
  return ATTN_OK;
}

static attn_status run_all_but_argmax(attn_context* context, const attn_batch* batch, attn_error* error) {
  (void)context;
  for (uint32_t i = 0; i < batch->count; ++i) {
    if (batch->ops[i].kind == ATTN_OP_ARGMAX) {
      error->op_index = (int32_t)i;
      return fail_with(error, ATTN_DEVICE_FAILED, "the device fell off");
    }
  }
  return ATTN_OK;
}

const attn_backend* attn_backend_get(const attn_host* host) {
  static attn_backend table = HOST_PLUGIN_TABLE("fails");
  (void)host;
  table.device_count = two_devices;
  table.open = open_first;
  table.allocate = allocate_little;
  table.query = query_known;
  table.run = run_all_but_argmax;
  return &table;
}
