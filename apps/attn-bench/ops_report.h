#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace attn::bench {

/// What was measured of one operation in one shape.
struct OpsRow {
  std::string set, operation, name, shape;
  bool native = true;  ///< false: the host's decomposition ran
  double flops = 0, bytes = 0;
  double seconds_median = 0, seconds_min = 0, seconds_max = 0;
  std::int64_t repeats = 0;

  double gflops() const { return flops / seconds_median / 1e9; }
  double gigabytes_per_second() const { return bytes / seconds_median / 1e9; }
};

struct OpsReport {
  std::string backend, version, device;
  int threads = 0;
  double peak_gflops = 0;  ///< of the best matrix product on this backend, in f32
  std::vector<OpsRow> rows;

  double share_of_peak(const OpsRow& row) const { return peak_gflops > 0 ? row.gflops() / peak_gflops : 0; }
};

std::string as_text(const OpsReport& report);
std::string as_json(const OpsReport& report);
/// Format attn.benchmark. Throws Error(file).
void write_hdf5(const std::filesystem::path& path, const OpsReport& report);
/// GFLOP/s over floating-point operations a byte as SVG, with the peak. Throws Error(file).
void write_plot(const std::filesystem::path& path, const OpsReport& report);

}  // namespace attn::bench
