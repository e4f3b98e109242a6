/* A table of a later minor version, with an entry more. */
#include "host_plugin.h"

const attn_backend* attn_backend_get(const attn_host* host) {
  static struct {
    attn_backend known;
    void (*unknown)(void);
  } table = {HOST_PLUGIN_TABLE("long_table"), NULL};
  (void)host;
  table.known.struct_size = sizeof table;
  table.known.abi_minor = ATTN_ABI_MINOR + 1;
  return &table.known;
}
