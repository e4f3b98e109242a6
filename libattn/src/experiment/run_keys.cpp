#include "run_keys.h"

namespace attn {

void describe_run(config::Schema& schema, const RunKeys& keys, const std::string& seeded) {
  const config::Integer not_negative{.minimum = 0};
  BackendConfig& backend = keys.backend;
  schema.field("name", keys.name, config::Text{.may_be_empty = false},
               "Name of the run; its folder is run_root/name");
  schema.field("run_root", keys.run_root, config::Path{}, "Folder that holds the runs");
  schema.field("seed", keys.seed, not_negative, "Seed of " + seeded);
  schema.field("backend.name", backend.name, config::Text{.may_be_empty = false},
               "Backend plugin: a name, or the path of a .so file");
  schema.field("backend.device", backend.device, not_negative, "Index of the device");
  schema.field("backend.threads", backend.threads, not_negative, "CPU threads; 0: all cores");
  schema.field("backend.memory_limit", backend.memory_limit, not_negative,
               "MiB of the device's memory that may be used; 0: no limit");
  schema.field("backend.dtype", backend.dtype,
               config::Choice<DType>{{{"f32", DType::f32}, {"f64", DType::f64}}}, "Element type");
}

}  // namespace attn
