#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "attn/inspection/complexity.h"
#include "attn/inspection/complexity_file.h"
#include "support/catch.h"
#include "support/error_of.h"

namespace {

using namespace attn;
using namespace attn::test;

ComplexityGrid small_grid() {
  ComplexityGrid grid;
  grid.backends = {"reference"};
  grid.lengths = {8, 16, 32};
  grid.widths = {4, 8};
  grid.heads = {2, 4};
  grid.windows = {4};
  grid.repeats = 2;
  return grid;
}

// All that is wrong with a grid.
std::string problems_of(const ComplexityGrid& grid) {
  ComplexityGrid checked = grid;
  config::Schema schema;
  describe_complexity(schema, checked);
  check_complexity(schema, checked);
  const auto error = error_of([&] { schema.check(); });
  if (error) CHECK(error->code() == ExitCode::config);
  return error ? error->what() : "";
}

std::string problems_of_set(const std::string& assignment) {
  ComplexityGrid grid;
  config::Schema schema;
  describe_complexity(schema, grid);
  schema.apply(config::parse_set(assignment));
  check_complexity(schema, grid);
  const auto error = error_of([&] { schema.check(); });
  return error ? error->what() : "";
}

struct TemporaryFolder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("attn-complexity-" + std::to_string(getpid()));
  TemporaryFolder() { std::filesystem::create_directories(path); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  TemporaryFolder(TemporaryFolder&&) = delete;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
};

}  // namespace

TEST_CASE("counted flops equal the closed forms in every cell of the default grid", "[report]") {
  ComplexityGrid grid;
  config::Schema schema;
  describe_complexity(schema, grid);
  schema.apply(yaml::load(ATTN_SOURCE_DIR "/configs/complexity.yaml"));
  check_complexity(schema, grid);
  schema.check();
  const auto device = Device::open("eigen");
  std::size_t compared = 0;
  for (const EncoderKind kind : grid.layer_types) {
    for (const std::int64_t width : grid.widths) {
      for (const std::int64_t length : grid.lengths) {
        for (const Pass pass : grid.passes) {
          EncoderOptions options{.kind = kind,
                                 .width = width,
                                 .kernel = grid.kernels.front(),
                                 .heads = grid.heads.front(),
                                 .window = grid.windows.front()};
          // The costliest cells would take the test a minute; attn-compare itself runs and counts them.
          if (closed_form_flops(options, 1, length, pass) > 1.2e9) continue;
          ParameterStore store(device, DType::f32);
          const auto encoder = make_sequence_encoder(Scope(store), options);
          store.materialise(1);
          const ComplexityCost cost =
              count_cost(*encoder, store, Tensor::zeros(device, {1, length, width}, DType::f32), pass);
          CAPTURE(name_of(kind), width, length, name_of(pass));
          CHECK(cost.flops == closed_form_flops(options, 1, length, pass));
          ++compared;
        }
      }
    }
  }
  CHECK(compared > 100);
}

TEST_CASE("a grid is run cell by cell, with exponents and crossovers", "[report]") {
  const ComplexityGrid grid = small_grid();
  std::size_t announced = 0;
  std::string warning;
  ComplexityObserver observer;
  observer.cell = [&](std::size_t, std::size_t, const std::string&) { ++announced; };
  observer.warning = [&](const std::string& text) { warning += text; };
  const ComplexityReport report = run_complexity(grid, observer);
  // Seven kinds, multi-head attention with two numbers of heads; two passes, two widths, three lengths.
  CHECK(report.cells.size() == 8 * 2 * 2 * 3);
  CHECK(announced == report.cells.size());
  CHECK(contains(warning, "'reference' has no "));
  CHECK(contains(warning, "attention"));
  for (const ComplexityCell& cell : report.cells) {
    CAPTURE(label_of(cell.encoder), cell.length);
    CHECK(cell.counted);
    CHECK(cell.path_verified);
    CHECK(cell.sequential_operations > 0);
    REQUIRE(cell.timing);
    CHECK(cell.timing->minimum > 0);
    CHECK(cell.timing->minimum <= cell.timing->median);
    CHECK(cell.timing->median <= cell.timing->maximum);
    CHECK(cell.timing->repeats == 2);
    CHECK(cell.timing->peak_bytes > 0);
  }
  // In n for each of 32 series, in d for each of the 16 at the longest length.
  CHECK(report.fits.size() == 32 + 16);
  for (const ComplexityFit& fit : report.fits) {
    REQUIRE(fit.flops);
    if (fit.encoder.kind == EncoderKind::convolution && fit.over_length)
      CHECK(fit.flops->exponent == Approx(1.0));
    if (fit.encoder.kind == EncoderKind::self_attention && fit.over_length && fit.pass == Pass::forward)
      CHECK(fit.flops->exponent == Approx(2.0));
  }
  // Three attentions against convolution, RNN and GRU.
  CHECK(report.crossovers.size() == 3 * 3 * 2 * 2);
  const ComplexityCrossover& first = report.crossovers.front();
  CHECK(first.by_order == 3 * 4);
  // n^2 (4 d + 5) >= n d (2 k d + 1) from n = 5 on, for d = 4 and k = 3: 21 n >= 100.
  CHECK(first.by_count == 5);
}

TEST_CASE("cells beyond the time limit are skipped and say so", "[report]") {
  ComplexityGrid grid = small_grid();
  grid.layer_types = {EncoderKind::rnn};
  grid.passes = {Pass::forward};
  grid.time_limit = 1e-9;
  const ComplexityReport report = run_complexity(grid, {});
  REQUIRE(report.cells.size() == 6);
  for (const ComplexityCell& cell : report.cells) {
    CHECK_FALSE(cell.timing);
    CHECK_FALSE(cell.counted);
    CHECK_FALSE(cell.skipped.empty());
    CHECK(cell.cost.flops == closed_form_flops(cell.encoder, 1, cell.length, Pass::forward));
  }
  CHECK(contains(report.cells.front().skipped, "the limit is"));
}

TEST_CASE("a grid that needs more memory than there is fails with both numbers, before it starts",
          "[report]") {
  ComplexityGrid grid = small_grid();
  grid.layer_types = {EncoderKind::gru};
  grid.lengths = {64, 1'000'000'000};
  bool started = false;
  ComplexityObserver observer;
  observer.cell = [&](std::size_t, std::size_t, const std::string&) { started = true; };
  const auto error = error_of([&] { (void)run_complexity(grid, observer); });
  REQUIRE(error);
  CHECK(error->code() == ExitCode::config);
  CHECK(contains(error->what(), "gru n=1000000000 d=8 forward_backward on backend 'reference' needs about "));
  CHECK(contains(error->what(), " GB are free"));
  CHECK_FALSE(started);
}

TEST_CASE("memory is estimated no lower than what a pass really takes", "[report]") {
  ComplexityGrid grid = small_grid();
  grid.lengths = {64, 256};
  grid.widths = {32};
  grid.repeats = 1;
  for (const char* backend : {"reference", "eigen"}) {
    grid.backends = {backend};
    for (const ComplexityCell& cell : run_complexity(grid, {}).cells) {
      CAPTURE(backend, label_of(cell.encoder), cell.length, name_of(cell.pass));
      REQUIRE(cell.timing);
      const double estimate =
          estimated_bytes(cell.encoder, 1, cell.length, cell.pass, std::string(backend) == "reference");
      CHECK(estimate >= cell.timing->peak_bytes);
      CHECK(estimate < 20 * cell.timing->peak_bytes + 1e5);
    }
  }
}

TEST_CASE("time can be that of the processor, for one thread", "[report]") {
  ComplexityGrid grid = small_grid();
  grid.layer_types = {EncoderKind::gru};
  grid.clock = TimedClock::processor;
  for (const ComplexityCell& cell : run_complexity(grid, {}).cells) {
    REQUIRE(cell.timing);
    CHECK(cell.timing->minimum > 0);
  }
  CHECK(problems_of_set("measurement.clock=processor").empty());
  grid.threads = 2;
  CHECK(contains(problems_of(grid), "use it with threads: 1"));
}

TEST_CASE("a run that is asked to stop ends as interrupted", "[report]") {
  ComplexityObserver observer;
  observer.stop_requested = [] { return true; };
  const auto error = error_of([&] { (void)run_complexity(small_grid(), observer); });
  REQUIRE(error);
  CHECK(error->code() == ExitCode::interrupted);
}

TEST_CASE("grids that make no sense are named", "[report]") {
  ComplexityGrid grid = small_grid();
  grid.heads = {2};
  CHECK(problems_of(grid).empty());
  grid.kernels = {9};
  CHECK(contains(problems_of(grid), "a kernel of 9 is longer than the shortest sequence, 8 steps"));
  grid.layer_types = {EncoderKind::rnn};
  CHECK(problems_of(grid).empty());
  grid = small_grid();
  grid.windows = {64};
  CHECK(contains(problems_of(grid), "a window of 64 is longer"));
  grid = small_grid();
  grid.heads = {3};
  CHECK(contains(problems_of(grid), "3 heads do not divide the width 4"));
  grid = small_grid();
  grid.lengths = {16, 8};
  CHECK(contains(problems_of(grid), "must ascend"));
  grid.lengths = {8, 8};
  CHECK(contains(problems_of(grid), "twice"));
  grid.lengths = {};
  CHECK(contains(problems_of(grid), "an empty list"));
  for (const char* path : {"backends", "layer_types", "lengths", "widths", "kernels", "heads", "windows",
                           "layers", "batches", "passes"}) {
    CAPTURE(path);
    CHECK(contains(problems_of_set(std::string(path) + "=[]"), "an empty list leaves nothing to compare"));
  }
  for (const char* path : {"lengths", "widths", "kernels", "heads", "windows", "layers", "batches"}) {
    CAPTURE(path);
    CHECK(contains(problems_of_set(std::string(path) + "=[0]"), path));
    CHECK(contains(problems_of_set(std::string(path) + "=[-3]"), path));
  }
}

TEST_CASE("a report's file has every value at its place", "[report]") {
  const TemporaryFolder folder;
  const ComplexityGrid grid = small_grid();
  const ComplexityReport report = run_complexity(grid, {});
  const auto path = folder.path / "complexity.h5";
  write_complexity_file(path, grid, report, {.format = "attn.complexity", .creator = "attn-compare"},
                        "lengths: [8]\n");
  const hdf5::File file = hdf5::open_checked(path, "attn.complexity", 1);
  const hdf5::Shape shape{7, 1, 2, 1, 1, 2, 1, 1, 2, 3};
  const std::vector<double> flops = file.read<double>("flops", shape);
  const std::vector<double> seconds = file.read<double>("seconds_median", shape);
  const std::vector<std::int64_t> paths = file.read<std::int64_t>("max_path_length", shape);
  for (const double value : flops) CHECK(std::isfinite(value));
  for (const double value : seconds) CHECK(value > 0);
  // multi_head_attention (5), forward_backward (1), 4 heads (1), width 8 (1), length 16 (1)
  const std::size_t place = (((((5 * 2 + 1) * 2 + 1) * 1) * 2) + 1) * 3 + 1;
  const EncoderOptions options{.kind = EncoderKind::multi_head_attention, .width = 8, .heads = 4};
  CHECK(flops[place] == closed_form_flops(options, 1, 16, Pass::forward_backward));
  CHECK(paths[place] == 1);
  CHECK(file.read_strings("layer_type")[5] == "multi_head_attention");
  CHECK(file.read<std::int64_t>("length") == std::vector<std::int64_t>{8, 16, 32});
  CHECK(file.read_string("meta/config_yaml") == "lengths: [8]\n");
  const hdf5::Shape without_length(shape.begin(), shape.end() - 1);
  for (const double value : file.read<double>("exponent_flops", without_length)) CHECK(std::isfinite(value));
  CHECK(file.dataset("exponent_stderr").shape() == without_length);
}
