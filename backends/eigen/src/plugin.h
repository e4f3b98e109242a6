#pragma once
/*
 * The functions of the table. table.cpp, which is compiled for every processor of the architecture, calls
 * those of plugin.cpp only on a processor that has the instructions they are compiled for.
 */
#include <cstddef>
#include <cstdint>

#include "attn/backend_abi.h"

namespace attn::eigen::plugin {

attn_status device_info(std::int32_t device, attn_device_info* info, attn_error* error);
attn_status open(const attn_options* options, attn_context** context, attn_error* error);
void close(attn_context* context);
attn_status allocate(attn_context* context, std::size_t bytes, void** data, attn_error* error);
void release(attn_context* context, void* data);
attn_status transfer(attn_context* context, void* to, const void* from, std::size_t bytes, attn_error* error);
attn_status query(attn_context* context, const attn_op* op, attn_support* support, attn_error* error);
attn_status run(attn_context* context, const attn_batch* batch, attn_error* error);
attn_status synchronize(attn_context* context, attn_error* error);
attn_status elapsed(attn_context* context, const attn_batch* batch, double* seconds, attn_error* error);

}  // namespace attn::eigen::plugin
