/* A plugin that needs a library which is not there when it is loaded. */
#include "attn/backend_abi.h"

int attn_backend_count(void);

const attn_backend* attn_backend_get(const attn_host* host) {
  (void)host;
  return attn_backend_count() > 0 ? (const attn_backend*)0 : (const attn_backend*)1;
}
