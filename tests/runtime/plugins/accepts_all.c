/* Says yes to every operation and runs none: what a program asks for can be observed. */
#include "host_plugin.h"

const attn_backend* attn_backend_get(const attn_host* host) {
  static const attn_backend table = HOST_PLUGIN_TABLE("accepts_all");
  (void)host;
  return &table;
}
