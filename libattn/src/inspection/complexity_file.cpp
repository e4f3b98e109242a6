#include "attn/inspection/complexity_file.h"

#include <algorithm>
#include <limits>

namespace attn {
namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();

template<typename T>
std::uint64_t place_of(const std::vector<T>& values, const T& value) {
  return static_cast<std::uint64_t>(std::find(values.begin(), values.end(), value) - values.begin());
}

// The axes in the order of the arrays.
class Axes {
 public:
  explicit Axes(const ComplexityGrid& grid) : grid_(grid) {
    shape_ = {grid.layer_types.size(), grid.backends.size(), grid.passes.size(),  grid.batches.size(),
              grid.layers.size(),      grid.heads.size(),    grid.windows.size(), grid.kernels.size(),
              grid.widths.size(),      grid.lengths.size()};
  }

  const hdf5::Shape& shape() const { return shape_; }
  hdf5::Shape shape_without_length() const { return {shape_.begin(), shape_.end() - 1}; }

  // All places of a layer with these options, in arrays with or without the last axis.
  std::vector<std::uint64_t> places(const EncoderOptions& e, const std::string& backend, Pass pass,
                                    std::int64_t batch, std::int64_t length, bool with_length) const {
    std::vector<std::uint64_t> found;
    const auto range = [](bool used, std::uint64_t place, std::size_t size) {
      return used ? std::pair(place, place + 1) : std::pair<std::uint64_t, std::uint64_t>(0, size);
    };
    const auto heads = range(uses_heads(e.kind), place_of(grid_.heads, e.heads), grid_.heads.size());
    const auto windows = range(uses_window(e.kind), place_of(grid_.windows, e.window), grid_.windows.size());
    const auto kernels = range(uses_kernel(e.kind), place_of(grid_.kernels, e.kernel), grid_.kernels.size());
    for (std::uint64_t h = heads.first; h < heads.second; ++h) {
      for (std::uint64_t r = windows.first; r < windows.second; ++r) {
        for (std::uint64_t k = kernels.first; k < kernels.second; ++k) {
          found.push_back(flat(
              {place_of(grid_.layer_types, e.kind), place_of(grid_.backends, backend),
               place_of(grid_.passes, pass), place_of(grid_.batches, batch), place_of(grid_.layers, e.layers),
               h, r, k, place_of(grid_.widths, e.width), place_of(grid_.lengths, length)},
              with_length));
        }
      }
    }
    return found;
  }

  void write(hdf5::File& file) const {
    std::vector<std::string> types, passes;
    for (const EncoderKind kind : grid_.layer_types) types.emplace_back(name_of(kind));
    for (const Pass pass : grid_.passes) passes.emplace_back(name_of(pass));
    file.write_strings("layer_type", types).make_scale("layer_type");
    file.write_strings("backend", grid_.backends).make_scale("backend");
    file.write_strings("pass", passes).make_scale("pass");
    const auto numbers = [&file](const std::string& name, const std::vector<std::int64_t>& values,
                                 const char* long_name) {
      hdf5::Dataset scale = file.write(name, values);
      scale.describe(long_name, "1");
      scale.make_scale(name);
    };
    numbers("batch", grid_.batches, "sequences of a batch");
    numbers("layers", grid_.layers, "stacked layers");
    numbers("heads", grid_.heads, "attention heads");
    numbers("window", grid_.windows, "keys that a query of windowed attention sees");
    numbers("kernel", grid_.kernels, "kernel size of convolutions");
    numbers("width", grid_.widths, "width d of inputs and states");
    numbers("length", grid_.lengths, "sequence length n");
  }

  void attach(const hdf5::File& file, hdf5::Dataset& dataset, bool with_length) const {
    const char* names[] = {"layer_type", "backend", "pass",   "batch", "layers",
                           "heads",      "window",  "kernel", "width", "length"};
    for (unsigned axis = 0; axis < (with_length ? 10u : 9u); ++axis)
      dataset.attach_scale(axis, file.dataset(names[axis]));
  }

 private:
  std::uint64_t flat(const hdf5::Shape& place, bool with_length) const {
    std::uint64_t index = 0;
    for (std::size_t axis = 0; axis < place.size() - (with_length ? 0 : 1); ++axis)
      index = index * shape_[axis] + place[axis];
    return index;
  }

  const ComplexityGrid& grid_;
  hdf5::Shape shape_;
};

class Writer {
 public:
  Writer(hdf5::File& file, const ComplexityGrid& grid, const ComplexityReport& report)
      : file_(file), axes_(grid), report_(report) {}

  void operator()() {
    axes_.write(file_);
    counted();
    measured();
    fitted("exponent", true);
    fitted("width_exponent", false);
  }

 private:
  template<typename T, typename Value>
  void array(const char* name, const char* long_name, const char* units, T otherwise, Value value) {
    std::uint64_t size = 1;
    for (const std::uint64_t extent : axes_.shape()) size *= extent;
    std::vector<T> values(size, otherwise);
    for (const ComplexityCell& cell : report_.cells) {
      for (const std::uint64_t place :
           axes_.places(cell.encoder, cell.backend, cell.pass, cell.batch, cell.length, true))
        values[place] = value(cell);
    }
    hdf5::Dataset dataset = file_.write(name, values, axes_.shape());
    dataset.describe(long_name, units);
    axes_.attach(file_, dataset, true);
  }

  void counted() {
    using Cell = ComplexityCell;
    array("counted", "whether the costs were counted from a run; otherwise flops are the closed form", "1",
          std::uint8_t{0}, [](const Cell& c) { return std::uint8_t{c.counted}; });
    array("flops", "floating-point operations", "1", missing, [](const Cell& c) { return c.cost.flops; });
    array("bytes", "bytes of all inputs and outputs of operations", "byte", missing,
          [](const Cell& c) { return c.counted ? c.cost.bytes : missing; });
    array("sequential_ops", "longest chain of dependent operations", "1", std::int64_t{0},
          [](const Cell& c) { return c.sequential_operations; });
    array("max_path_length", "layers or steps between the ends of a sequence; 0 where they never meet", "1",
          std::int64_t{0}, [](const Cell& c) { return c.path_length.value_or(0); });
    array("path_verified", "whether the path length was found by gradients", "1", std::uint8_t{0},
          [](const Cell& c) { return std::uint8_t{c.path_verified}; });
    array("parameters", "trainable numbers", "1", std::int64_t{0},
          [](const Cell& c) { return c.cost.parameters; });
    array("activation_bytes", "input and results kept for a backward pass", "byte", missing,
          [](const Cell& c) { return c.counted ? c.cost.activation_bytes : missing; });
  }

  void measured() {
    using Timing = ComplexityTiming;
    const auto number = [this](const char* name, const char* long_name, const char* units,
                               double Timing::*member) {
      array(name, long_name, units, missing,
            [member](const ComplexityCell& c) { return c.timing ? (*c.timing).*member : missing; });
    };
    array("measured", "whether there are times", "1", std::uint8_t{0},
          [](const ComplexityCell& c) { return std::uint8_t{c.timing.has_value()}; });
    number("seconds_median", "time of a pass, median", "s", &Timing::median);
    number("seconds_min", "time of a pass, shortest", "s", &Timing::minimum);
    number("seconds_max", "time of a pass, longest", "s", &Timing::maximum);
    array("repeats", "timed passes", "1", std::int32_t{0},
          [](const ComplexityCell& c) { return c.timing ? c.timing->repeats : 0; });
    number("gflops", "counted flops over the median", "1e9 s-1", &Timing::gflops);
    number("peak_bytes", "most that the device's buffers held during a pass", "byte", &Timing::peak_bytes);
    std::vector<double> peaks;
    for (const ComplexityDevice& device : report_.devices) peaks.push_back(device.peak_gflops);
    hdf5::Dataset peak = file_.write("peak_gflops", peaks);
    peak.describe("measured f32 matrix product", "1e9 s-1");
    peak.attach_scale(0, file_.dataset("backend"));
  }

  void fitted(const std::string& name, bool over_length) {
    hdf5::Shape shape = axes_.shape_without_length();
    std::uint64_t size = 1;
    for (const std::uint64_t extent : shape) size *= extent;
    std::vector<double> exponents(size, missing), errors(size, missing), counts(size, missing),
        textbook(size, missing);
    for (const ComplexityFit& fit : report_.fits) {
      if (fit.over_length != over_length) continue;
      for (const std::uint64_t place :
           axes_.places(fit.encoder, fit.backend, fit.pass, fit.batch, 0, false)) {
        if (fit.seconds) exponents[place] = fit.seconds->exponent;
        if (fit.seconds) errors[place] = fit.seconds->standard_error.value_or(missing);
        if (fit.flops) counts[place] = fit.flops->exponent;
        textbook[place] = fit.textbook;
      }
    }
    const std::string over = over_length ? "the length" : "the width, at the longest length";
    const auto write = [&](const std::string& dataset_name, const std::vector<double>& values,
                           const std::string& what) {
      hdf5::Dataset dataset = file_.write(dataset_name, values, shape);
      dataset.describe(what + " over " + over, "1");
      axes_.attach(file_, dataset, false);
    };
    write(name, exponents, "exponent of the measured time");
    write(name + "_stderr", errors, "its standard error; exponent of the measured time");
    write(name + "_flops", counts, "exponent of the counted flops");
    write(name + "_textbook", textbook, "exponent that the textbook gives");
  }

  hdf5::File& file_;
  Axes axes_;
  const ComplexityReport& report_;
};

}  // namespace

void write_complexity_file(const std::filesystem::path& path, const ComplexityGrid& grid,
                           const ComplexityReport& report, const hdf5::Header& header,
                           const std::string& config_yaml) {
  hdf5::write_atomically(path, [&](hdf5::File& file) {
    hdf5::write_header(file, header);
    file.write_string("meta/config_yaml", config_yaml);
    Writer(file, grid, report)();
  });
}

}  // namespace attn
