#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "model_comparison.h"

namespace attn::bench {

/// A comparison with what it was made of.
struct ComparisonReport {
  std::string name, config_yaml;
  std::uint64_t seed = 0;
  bool traced = false;
  double bound = 0;
  const std::vector<BackendRun>& runs;
};

std::string as_text(const ComparisonReport& report);
std::string as_json(const ComparisonReport& report);
/// Format attn.benchmark. Throws Error(file).
void write_hdf5(const std::filesystem::path& path, const ComparisonReport& report);
/// The losses as an SVG line chart. Throws Error(file).
void write_plot(const std::filesystem::path& path, const ComparisonReport& report);

}  // namespace attn::bench
