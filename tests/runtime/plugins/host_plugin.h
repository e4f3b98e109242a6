/*
 * A plugin over host memory that runs nothing, in one header; the plugins of this folder change one thing of
 * it. Each source names itself and may replace an entry before it includes this file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attn/backend_abi.h"
#include "attn/op_kinds.h"

struct attn_context {
  int unused;
};

#ifndef HOST_ACCESSIBLE
#define HOST_ACCESSIBLE 1
#endif

static inline attn_status fail_with(attn_error* error, attn_status status, const char* message) {
  error->status = status;
  snprintf(error->message, sizeof error->message, "%s", message);
  return status;
}

static inline int32_t one_device(attn_error* error) {
  (void)error;
  return 1;
}

static inline attn_status device_info(int32_t device, attn_device_info* info, attn_error* error) {
  (void)device;
  (void)error;
  info->host_accessible = HOST_ACCESSIBLE;
  snprintf(info->name, sizeof info->name, "nothing");
  return ATTN_OK;
}

static inline attn_status open_context(const attn_options* options, attn_context** context,
                                       attn_error* error) {
  (void)options;
  *context = malloc(sizeof **context);
  return *context != NULL ? ATTN_OK : fail_with(error, ATTN_OUT_OF_MEMORY, "no memory for a context");
}

static inline void close_context(attn_context* context) {
  free(context);
}

static inline attn_status allocate(attn_context* context, size_t bytes, void** data, attn_error* error) {
  (void)context;
  *data = calloc(1, bytes + 1);
  return *data != NULL ? ATTN_OK : fail_with(error, ATTN_OUT_OF_MEMORY, "no memory");
}

static inline void release(attn_context* context, void* data) {
  (void)context;
  free(data);
}

static inline attn_status copy_bytes(attn_context* context, void* to, const void* from, size_t bytes,
                                     attn_error* error) {
  (void)context;
  (void)error;
  memcpy(to, from, bytes);
  return ATTN_OK;
}

static inline attn_status say_yes(attn_context* context, const attn_op* op, attn_support* support,
                                  attn_error* error) {
  (void)context;
  (void)op;
  (void)error;
  support->supported = 1;
  support->workspace_bytes = 0;
  return ATTN_OK;
}

static inline attn_status run_nothing(attn_context* context, const attn_batch* batch, attn_error* error) {
  (void)context;
  (void)batch;
  (void)error;
  return ATTN_OK;
}

static inline attn_status wait_for_nothing(attn_context* context, attn_error* error) {
  (void)context;
  (void)error;
  return ATTN_OK;
}

#define HOST_PLUGIN_TABLE(plugin_name)                                                                      \
  {                                                                                                         \
    .struct_size = sizeof(attn_backend), .abi_major = ATTN_ABI_MAJOR, .abi_minor = ATTN_ABI_MINOR,          \
    .name = plugin_name, .version = "1", .description = "does nothing", .device_count = one_device,         \
    .device_info = device_info, .open = open_context, .close = close_context, .allocate = allocate,         \
    .release = release, .upload = copy_bytes, .download = copy_bytes, .query = say_yes, .run = run_nothing, \
    .synchronize = wait_for_nothing                                                                         \
  }
