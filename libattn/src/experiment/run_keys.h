#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

#include "attn/experiment/experiment_config.h"

namespace attn {

/// What every kind of experiment has.
struct RunKeys {
  std::string& name;
  std::filesystem::path& run_root;
  std::uint64_t& seed;
  BackendConfig& backend;
};

/// Declares name, run_root, seed and backend.*; `seeded` says what the seed decides.
void describe_run(config::Schema& schema, const RunKeys& keys, const std::string& seeded);

}  // namespace attn
