#include "ops_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "attn/io/atomic_file.h"
#include "attn/io/hdf5.h"
#include "attn/io/line_chart.h"
#include "table.h"

namespace attn::bench {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> sets_of(const OpsReport& report) {
  std::vector<std::string> sets;
  for (const OpsRow& row : report.rows) {
    if (std::find(sets.begin(), sets.end(), row.set) == sets.end()) sets.push_back(row.set);
  }
  return sets;
}

std::string time_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  return seconds < 1 ? fmt::format("{:.2f} ms", seconds * 1e3) : fmt::format("{:.2f} s", seconds);
}

}  // namespace

std::string as_text(const OpsReport& report) {
  std::string text = fmt::format(
      "backend {} {} on {}, {} threads; best matrix product {:.1f} GFLOP/s\n", report.backend, report.version,
      report.device, report.threads == 0 ? "all" : fmt::format("{}", report.threads), report.peak_gflops);
  for (const std::string& set : sets_of(report)) {
    Table table({"operation", "shape", "time", "GFLOP/s", "GB/s", "of peak", "runs", "what"});
    for (const OpsRow& row : report.rows) {
      if (row.set != set) continue;
      table.add({row.operation, row.shape, time_text(row.seconds_median), fmt::format("{:.2f}", row.gflops()),
                 fmt::format("{:.2f}", row.gigabytes_per_second()),
                 fmt::format("{:.1f}%", 100 * report.share_of_peak(row)),
                 row.native ? "native" : "decomposed", row.name});
    }
    text += fmt::format("\n{}\n\n{}", set, table.to_string());
  }
  return text;
}

std::string as_json(const OpsReport& report) {
  Json object;
  object["backend"] = report.backend;
  object["version"] = report.version;
  object["device"] = report.device;
  object["threads"] = report.threads;
  object["peak_gflops"] = report.peak_gflops;
  object["rows"] = Json::array();
  for (const OpsRow& row : report.rows) {
    object["rows"].push_back({{"set", row.set},
                              {"operation", row.operation},
                              {"name", row.name},
                              {"shape", row.shape},
                              {"native", row.native},
                              {"flops", row.flops},
                              {"bytes", row.bytes},
                              {"seconds_median", row.seconds_median},
                              {"seconds_min", row.seconds_min},
                              {"seconds_max", row.seconds_max},
                              {"repeats", row.repeats},
                              {"gflops", row.gflops()},
                              {"gigabytes_per_second", row.gigabytes_per_second()},
                              {"share_of_peak", report.share_of_peak(row)}});
  }
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void write_hdf5(const std::filesystem::path& path, const OpsReport& report) {
  hdf5::write_atomically(path, [&](hdf5::File& file) {
    hdf5::Header header;
    header.format = "attn.benchmark";
    header.creator = "attn-bench";
    header.backend = report.backend;
    header.device = report.device;
    hdf5::write_header(file, header);
    file.set_attribute("kind", "ops");
    file.set_attribute("threads", static_cast<std::int64_t>(report.threads));
    file.set_attribute("peak_gflops", report.peak_gflops);
    const auto texts = [&](const char* name, std::string OpsRow::*member) {
      std::vector<std::string> list;
      for (const OpsRow& row : report.rows) list.push_back(row.*member);
      return file.write_strings(name, list);
    };
    texts("set", &OpsRow::set);
    texts("name", &OpsRow::name);
    texts("shape", &OpsRow::shape);
    hdf5::Dataset operation = texts("operation", &OpsRow::operation);
    operation.make_scale("operation");
    const auto numbers = [&](const char* name, const char* long_name, const char* units, const auto& value) {
      std::vector<double> list;
      for (const OpsRow& row : report.rows) list.push_back(value(row));
      hdf5::Dataset dataset = file.write(name, list);
      dataset.describe(long_name, units);
      dataset.attach_scale(0, operation);
    };
    numbers("flops", "floating-point operations of one use", "1", [](const OpsRow& r) { return r.flops; });
    numbers("bytes", "bytes of all inputs and outputs", "byte", [](const OpsRow& r) { return r.bytes; });
    numbers("seconds_median", "median time of one use", "s",
            [](const OpsRow& r) { return r.seconds_median; });
    numbers("seconds_min", "shortest time of one use", "s", [](const OpsRow& r) { return r.seconds_min; });
    numbers("seconds_max", "longest time of one use", "s", [](const OpsRow& r) { return r.seconds_max; });
    numbers("repeats", "uses that were timed", "1",
            [](const OpsRow& r) { return static_cast<double>(r.repeats); });
    numbers("gflops", "speed", "GFLOP/s", [](const OpsRow& r) { return r.gflops(); });
    numbers("gigabytes_per_second", "bytes of inputs and outputs over the median time", "GB/s",
            [](const OpsRow& r) { return r.gigabytes_per_second(); });
    numbers("share_of_peak", "speed over that of the best matrix product", "1",
            [&](const OpsRow& r) { return report.share_of_peak(r); });
  });
}

void write_plot(const std::filesystem::path& path, const OpsReport& report) {
  LineChart chart;
  chart.title = fmt::format("{} on {}: speed of operations", report.backend, report.device);
  chart.x = {"floating-point operations a byte", true, {}, {}};
  chart.y = {"GFLOP/s", true, {}, {}};
  double least = 1e30, most = 0;
  for (const std::string& set : sets_of(report)) {
    ChartSeries series{set};
    series.line = false;
    series.markers = true;
    for (const OpsRow& row : report.rows) {
      if (row.set != set || row.flops <= 0) continue;
      series.x.push_back(row.flops / row.bytes);
      series.y.push_back(row.gflops());
      least = std::min(least, series.x.back());
      most = std::max(most, series.x.back());
    }
    chart.series.push_back(std::move(series));
  }
  if (most > 0) {
    ChartSeries peak{"best matrix product"};
    peak.dashed = true;
    peak.x = {least, most};
    peak.y = {report.peak_gflops, report.peak_gflops};
    chart.series.push_back(std::move(peak));
  }
  write_file_atomically(path, to_svg(chart));
}

}  // namespace attn::bench
