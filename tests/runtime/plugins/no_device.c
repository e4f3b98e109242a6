/* A driver is missing: 0 devices, with the reason. */
#include "host_plugin.h"

static int32_t no_devices(attn_error* error) {
  fail_with(error, ATTN_NO_DEVICE, "there is no driver");
  return 0;
}

const attn_backend* attn_backend_get(const attn_host* host) {
  static attn_backend table = HOST_PLUGIN_TABLE("no_device");
  (void)host;
  table.device_count = no_devices;
  return &table;
}
