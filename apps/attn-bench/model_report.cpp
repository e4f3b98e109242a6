#include "model_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "attn/cli/progress.h"
#include "attn/io/atomic_file.h"
#include "attn/io/hdf5.h"
#include "attn/io/line_chart.h"
#include "table.h"

namespace attn::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr double megabyte = 1e6;

std::string figures(const ComparisonReport& report) {
  Table table({"backend", "device", "first loss", "last loss", "largest difference", "at update",
               "training tokens/s", "translating tokens/s", "same lines", "device MB", "resident MB"});
  for (const BackendRun& run : report.runs) {
    const bool first = &run == &report.runs.front();
    table.add({run.backend, run.device, fmt::format("{:.6f}", run.losses.front()),
               fmt::format("{:.6f}", run.losses.back()),
               first ? "-" : fmt::format("{:.1e}", run.largest_difference),
               first ? "-" : fmt::format("{}", run.largest_at),
               fmt::format("{:.0f}", run.training_tokens_per_second),
               fmt::format("{:.0f}", run.translating_tokens_per_second),
               first || run.translations.empty() ? "-" : fmt::format("{:.1f}%", 100 * run.identical_lines),
               fmt::format("{:.1f}", static_cast<double>(run.device_bytes) / megabyte),
               fmt::format("{:.1f}", static_cast<double>(run.resident_bytes) / megabyte)});
  }
  return table.to_string();
}

std::string losses(const ComparisonReport& report) {
  std::vector<std::string> header{"update"};
  for (const BackendRun& run : report.runs) header.push_back(run.backend);
  Table table(header);
  const std::size_t updates = report.runs.front().losses.size(),
                    step = std::max<std::size_t>(1, updates / 10);
  for (std::size_t i = 0; i < updates; ++i) {
    if (i % step != 0 && i + 1 != updates) continue;
    std::vector<std::string> row{fmt::format("{}", i + 1)};
    for (const BackendRun& run : report.runs) row.push_back(fmt::format("{:.7f}", run.losses[i]));
    table.add(row);
  }
  return table.to_string();
}

std::string trace_text(const ComparisonReport& report) {
  std::string text;
  for (std::size_t i = 1; i < report.runs.size(); ++i) {
    const BackendRun& run = report.runs[i];
    text += run.divergence
                ? fmt::format("{}: the first that differs by more than {:g} is {}, by {:.3g}\n", run.backend,
                              report.bound, run.divergence->where, run.divergence->difference)
                : fmt::format(
                      "{}: no operation and no gradient differs by more than {:g}; the largest difference is "
                      "{:.1e}\n",
                      run.backend, report.bound, run.largest_traced);
  }
  return text;
}

template<typename T, typename Field>
std::vector<T> of_runs(const ComparisonReport& report, Field field) {
  std::vector<T> values;
  for (const BackendRun& run : report.runs) values.push_back(static_cast<T>(run.*field));
  return values;
}

}  // namespace

std::string as_text(const ComparisonReport& report) {
  std::string text =
      fmt::format("{}, seed {}, {} updates\n\n{}\nLoss, nats per target token\n\n{}", report.name,
                  report.seed, report.runs.front().losses.size(), figures(report), losses(report));
  if (report.traced) text += "\nOne update from equal parameters\n\n" + trace_text(report);
  return text;
}

std::string as_json(const ComparisonReport& report) {
  Json object;
  object["name"] = report.name;
  object["seed"] = report.seed;
  object["backends"] = Json::array();
  for (const BackendRun& run : report.runs) {
    Json one;
    one["backend"] = run.backend;
    one["file"] = run.file;
    one["device"] = run.device;
    one["losses"] = run.losses;
    one["largest_relative_difference"] = run.largest_difference;
    one["largest_at_update"] = run.largest_at;
    one["training_tokens_per_second"] = run.training_tokens_per_second;
    one["translating_tokens_per_second"] = run.translating_tokens_per_second;
    one["translated_lines"] = run.translations.size();
    one["identical_lines"] = run.identical_lines;
    one["peak_device_bytes"] = run.device_bytes;
    one["peak_resident_bytes"] = run.resident_bytes;
    if (report.traced) {
      one["traced_difference"] = run.largest_traced;
      one["first_divergence"] = run.divergence ? Json(run.divergence->where) : Json();
    }
    object["backends"].push_back(std::move(one));
  }
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void write_hdf5(const std::filesystem::path& path, const ComparisonReport& report) {
  hdf5::write_atomically(path, [&](hdf5::File& file) {
    hdf5::Header header;
    header.format = "attn.benchmark";
    header.creator = "attn-bench";
    header.backend = report.runs.front().backend;
    header.device = report.runs.front().device;
    header.seed = report.seed;
    hdf5::write_header(file, header);
    file.set_attribute("kind", "model");
    file.write_string("meta/config_yaml", report.config_yaml);
    const std::uint64_t updates = report.runs.front().losses.size(), backends = report.runs.size();
    std::vector<std::string> names;
    std::vector<double> losses;
    for (const BackendRun& run : report.runs) {
      names.push_back(run.backend);
      losses.insert(losses.end(), run.losses.begin(), run.losses.end());
    }
    std::vector<std::int64_t> numbers(updates);
    for (std::uint64_t i = 0; i < updates; ++i) numbers[i] = static_cast<std::int64_t>(i) + 1;
    hdf5::Dataset backend = file.write_strings("backend", names);
    hdf5::Dataset update = file.write("update", numbers);
    backend.make_scale("backend");
    update.make_scale("update");
    update.describe("update, counted from 1", "1");
    hdf5::Dataset loss =
        file.write("loss", losses, hdf5::Shape{backends, updates}, hdf5::Storage::compressed());
    loss.describe("training loss of every update", "nats per target token");
    loss.attach_scale(0, backend);
    loss.attach_scale(1, update);
    const auto put = [&](const char* name, const auto& values, const char* long_name, const char* units) {
      hdf5::Dataset dataset = file.write(name, values);
      dataset.describe(long_name, units);
      dataset.attach_scale(0, backend);
    };
    put("training_tokens_per_second", of_runs<double>(report, &BackendRun::training_tokens_per_second),
        "target tokens trained on per second", "1/s");
    put("translating_tokens_per_second", of_runs<double>(report, &BackendRun::translating_tokens_per_second),
        "target tokens translated per second", "1/s");
    put("largest_relative_difference", of_runs<double>(report, &BackendRun::largest_difference),
        "largest relative difference of a loss from the first backend", "1");
    put("identical_lines", of_runs<double>(report, &BackendRun::identical_lines),
        "share of lines translated as by the first backend", "1");
    put("peak_device_bytes", of_runs<std::uint64_t>(report, &BackendRun::device_bytes),
        "most device memory in use", "byte");
    put("peak_resident_bytes", of_runs<std::uint64_t>(report, &BackendRun::resident_bytes),
        "most resident memory of the process", "byte");
  });
}

void write_plot(const std::filesystem::path& path, const ComparisonReport& report) {
  LineChart chart;
  chart.title = report.name + ": loss on each backend";
  chart.x.label = "update";
  chart.y.label = "nats per target token";
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    ChartSeries series{report.runs[i].backend};
    for (std::size_t k = 0; k < report.runs[i].losses.size(); ++k) {
      series.x.push_back(static_cast<double>(k) + 1);
      series.y.push_back(report.runs[i].losses[k]);
    }
    series.dashed = i > 0;  // equal curves lie on each other
    chart.series.push_back(std::move(series));
  }
  write_file_atomically(path, to_svg(chart));
}

}  // namespace attn::bench
