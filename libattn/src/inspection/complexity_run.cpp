#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "attn/core/error.h"
#include "attn/inspection/complexity.h"
#include "attn/inspection/complexity_path.h"
#include "attn/runtime/random.h"
#include "complexity_summary.h"
#include "complexity_timing.h"

namespace attn {
namespace {

// The layer types with each value of the list that concerns them.
std::vector<EncoderOptions> variants(const ComplexityGrid& grid) {
  std::vector<EncoderOptions> found;
  for (const EncoderKind kind : grid.layer_types) {
    EncoderOptions options;
    options.kind = kind;
    options.causal = grid.causal;
    options.heads = 1;
    const auto each = [&](const std::vector<std::int64_t>& values, std::int64_t EncoderOptions::*member) {
      for (const std::int64_t value : values) {
        options.*member = value;
        found.push_back(options);
      }
    };
    if (uses_kernel(kind))
      each(grid.kernels, &EncoderOptions::kernel);
    else if (uses_heads(kind))
      each(grid.heads, &EncoderOptions::heads);
    else if (uses_window(kind))
      each(grid.windows, &EncoderOptions::window);
    else
      found.push_back(options);
  }
  return found;
}

std::vector<ComplexityCell> cells_of(const ComplexityGrid& grid) {
  std::vector<ComplexityCell> cells;
  const std::vector<EncoderOptions> options = variants(grid);
  for (const std::string& backend : grid.backends) {
    for (const Pass pass : grid.passes) {
      for (const std::int64_t batch : grid.batches) {
        for (const std::int64_t layers : grid.layers) {
          for (const std::int64_t width : grid.widths) {
            for (EncoderOptions variant : options) {
              variant.layers = layers;
              variant.width = width;
              for (const std::int64_t length : grid.lengths) {
                ComplexityCell& cell = cells.emplace_back();
                cell.backend = backend;
                cell.pass = pass;
                cell.encoder = variant;
                cell.batch = batch;
                cell.length = length;
              }
            }
          }
        }
      }
    }
  }
  return cells;
}

std::string describe(const ComplexityCell& cell) {
  return fmt::format("{} n={} d={} {}", label_of(cell.encoder), cell.length, cell.encoder.width,
                     name_of(cell.pass));
}

bool same_series(const ComplexityCell& a, const ComplexityCell& b) {
  return a.backend == b.backend && a.pass == b.pass && a.batch == b.batch &&
         a.encoder.kind == b.encoder.kind && a.encoder.width == b.encoder.width &&
         a.encoder.layers == b.encoder.layers && a.encoder.kernel == b.encoder.kernel &&
         a.encoder.heads == b.encoder.heads && a.encoder.window == b.encoder.window;
}

class Run {
 public:
  Run(const ComplexityGrid& grid, const ComplexityObserver& observer) : grid_(grid), observer_(observer) {
    for (const std::string& backend : grid.backends) {
      devices_.push_back(Device::open(backend, {.threads = grid.threads}));
    }
    report_.cells = cells_of(grid);
  }

  ComplexityReport operator()() {
    describe_devices();
    check_memory();
    for (ComplexityDevice& device : report_.devices)
      device.peak_gflops = measured_peak(devices_[index_of(device.backend)], grid_.clock);
    for (std::size_t i = 0; i < report_.cells.size(); ++i) {
      ComplexityCell& cell = report_.cells[i];
      if (stopped())
        fail(ExitCode::interrupted, "interrupted after {} of {} combinations", i, report_.cells.size());
      if (observer_.cell) observer_.cell(i, report_.cells.size(), describe(cell));
      run(cell, i > 0 && same_series(report_.cells[i - 1], cell) ? &report_.cells[i - 1] : nullptr);
    }
    report_.fits = inspection::fit_all(report_.cells, static_cast<std::size_t>(grid_.fit_points));
    report_.crossovers = inspection::find_crossovers(report_.cells);
    return std::move(report_);
  }

 private:
  bool stopped() const { return observer_.stop_requested && observer_.stop_requested(); }

  std::size_t index_of(const std::string& backend) const {
    const auto found = std::find(grid_.backends.begin(), grid_.backends.end(), backend);
    return static_cast<std::size_t>(found - grid_.backends.begin());
  }

  void describe_devices() {
    const bool backward =
        std::find(grid_.passes.begin(), grid_.passes.end(), Pass::forward_backward) != grid_.passes.end();
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      ComplexityDevice& device = report_.devices.emplace_back();
      device.backend = grid_.backends[i];
      device.version = devices_[i]->backend().version();
      device.device = devices_[i]->name();
      device.threads = grid_.threads;
      for (const EncoderOptions& options : variants(grid_)) {
        const auto lacking =
            decomposed_operations(devices_[i], options, backward ? Pass::forward_backward : Pass::forward);
        if (!lacking.empty()) device.decomposed[std::string(name_of(options.kind))] = lacking;
      }
      warn_of_decompositions(device);
    }
  }

  void warn_of_decompositions(const ComplexityDevice& device) const {
    std::vector<std::string> names;
    for (const auto& [kind, lacking] : device.decomposed) {
      for (const std::string& name : lacking) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
      }
    }
    if (names.empty() || !observer_.warning) return;
    std::sort(names.begin(), names.end());
    observer_.warning(fmt::format("backend '{}' has no {} of its own; decomposed into primitive operations",
                                  device.backend, fmt::join(names, ", ")));
  }

  bool decomposes_attention(const ComplexityCell& cell) const {
    const ComplexityDevice& device = report_.devices[index_of(cell.backend)];
    const auto found = device.decomposed.find(std::string(name_of(cell.encoder.kind)));
    return found != device.decomposed.end() &&
           std::any_of(found->second.begin(), found->second.end(),
                       [](const std::string& name) { return name.rfind("attention", 0) == 0; });
  }

  void check_memory() const {
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      const double free = inspection::free_bytes(*devices_[i]);
      const ComplexityCell* largest = nullptr;
      double most = 0;
      for (const ComplexityCell& cell : report_.cells) {
        if (cell.backend != grid_.backends[i]) continue;
        const double needed =
            estimated_bytes(cell.encoder, cell.batch, cell.length, cell.pass, decomposes_attention(cell));
        if (largest == nullptr || needed > most) largest = &cell;
        most = std::max(most, needed);
      }
      if (largest == nullptr || most <= free) continue;
      fail(ExitCode::config,
           "{} on backend '{}' needs about {:.1f} GB of memory, and {:.1f} GB are free; choose smaller "
           "lengths, widths or batches, or leave that layer type out",
           describe(*largest), largest->backend, most * 1e-9, free * 1e-9);
    }
  }

  void run(ComplexityCell& cell, const ComplexityCell* shorter) {
    const std::shared_ptr<Device>& device = devices_[index_of(cell.backend)];
    cell.cost.flops = closed_form_flops(cell.encoder, cell.batch, cell.length, cell.pass);
    cell.cost.parameters = static_cast<std::int64_t>(closed_form_parameters(cell.encoder));
    describe_structure(cell, device);
    if (too_long(cell, shorter)) return;
    ParameterStore store(device, DType::f32);
    const auto encoder = make_sequence_encoder(Scope(store), cell.encoder);
    store.materialise(grid_.seed);
    RandomSequence random(grid_.seed, "input");
    const std::vector<double> values =
        normal_values(random, cell.batch * cell.length * cell.encoder.width, 1.0);
    const Tensor x =
        Tensor::from<double>(device, values, {cell.batch, cell.length, cell.encoder.width}, DType::f32);
    cell.cost = count_cost(*encoder, store, x, cell.pass);
    cell.counted = true;
    const inspection::TimingOptions options{grid_.repeats, grid_.warm_up, grid_.time_limit, grid_.clock,
                                            observer_.stop_requested};
    cell.timing = inspection::time_encoder(*encoder, store, x, cell.pass, options);
    cell.timing->representative =
        grid_.fit_to == Statistic::median ? cell.timing->median : cell.timing->minimum;
    cell.timing->gflops = cell.cost.flops / cell.timing->median * 1e-9;
    const double peak = report_.devices[index_of(cell.backend)].peak_gflops;
    cell.timing->peak_share = peak > 0 ? cell.timing->gflops / peak : 0;
  }

  // Chains and paths do not depend on width, batch and backend.
  void describe_structure(ComplexityCell& cell, const std::shared_ptr<Device>& device) {
    const EncoderOptions& e = cell.encoder;
    const auto key = std::tuple(e.kind, e.kernel, e.heads, e.window, cell.length, e.layers, cell.pass);
    const auto known = chains_.find(key);
    if (known != chains_.end()) {
      cell.sequential_operations = known->second;
    } else {
      cell.sequential_operations = count_sequential_operations(device, e, cell.length, cell.pass);
      chains_.emplace(key, cell.sequential_operations);
    }
    cell.path_length = path_length(e, cell.length);
    cell.path_verified = cell.length <= grid_.path_limit;
    if (!cell.path_verified) return;
    const auto path_key = std::tuple(e.kind, e.kernel, e.heads, e.window, cell.length);
    auto path = paths_.find(path_key);
    if (path == paths_.end())
      path = paths_.emplace(path_key, measured_path_length(device, e, cell.length)).first;
    cell.path_length = path->second;
  }

  // Whether a single run would exceed the limit, judged from the next shorter sequence, or from the fastest
  // the device can be.
  bool too_long(ComplexityCell& cell, const ComplexityCell* shorter) const {
    const double peak = report_.devices[index_of(cell.backend)].peak_gflops;
    double expected = peak > 0 ? cell.cost.flops / peak * 1e-9 : 0;
    if (shorter != nullptr && shorter->timing) {
      expected = shorter->timing->minimum * cell.cost.flops / shorter->cost.flops;
    } else if (shorter != nullptr) {
      expected = std::numeric_limits<double>::infinity();
    }
    if (expected <= grid_.time_limit) return false;
    cell.skipped = shorter != nullptr && !shorter->timing
                       ? "a shorter sequence already took too long"
                       : fmt::format("one run would take about {:.1f} s, the limit is {:g} s", expected,
                                     grid_.time_limit);
    return true;
  }

  const ComplexityGrid& grid_;
  const ComplexityObserver& observer_;
  std::vector<std::shared_ptr<Device>> devices_;
  ComplexityReport report_;
  std::map<
      std::tuple<EncoderKind, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, Pass>,
      std::int64_t>
      chains_;
  std::map<std::tuple<EncoderKind, std::int64_t, std::int64_t, std::int64_t, std::int64_t>,
           std::optional<std::int64_t>>
      paths_;
};

}  // namespace

ComplexityReport run_complexity(const ComplexityGrid& grid, const ComplexityObserver& observer) {
  return Run(grid, observer)();
}

}  // namespace attn
