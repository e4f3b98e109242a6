/* Built for a version of the boundary that is yet to come. */
#include "host_plugin.h"

const attn_backend* attn_backend_get(const attn_host* host) {
  static attn_backend table = HOST_PLUGIN_TABLE("other_major");
  (void)host;
  table.abi_major = ATTN_ABI_MAJOR + 1;
  return &table;
}
