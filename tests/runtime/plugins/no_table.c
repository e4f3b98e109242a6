/* Breaks the promise never to return NULL. */
#include "host_plugin.h"

const attn_backend* attn_backend_get(const attn_host* host) {
  (void)host;
  return NULL;
}
