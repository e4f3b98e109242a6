#include "attn/cli/main.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <span>

#include "attn/cli/messages.h"
#include "attn/cli/output.h"
#include "attn/cli/progress.h"
#include "attn/cli/signals.h"
#include "attn/core/error.h"
#include "attn/figures/picture.h"
#include "attn/inspection/complexity_file.h"
#include "attn/io/atomic_file.h"
#include "example.h"
#include "options.h"
#include "pictures.h"
#include "records.h"
#include "tables.h"

namespace attn::compare {
namespace {

const std::vector<cli::Example> examples{
    {"attn-compare configs/complexity.yaml",
     "the textbook's table, counted and measured, in under two minutes"},
    {"attn-compare configs/complexity.yaml --output complexity",
     "the same, also as CSV, Markdown, JSON, HDF5 and plots"},
    {"attn-compare --layer-types gru,self_attention --lengths 128,256,512,1024 --widths 256 --passes forward",
     "where self-attention becomes slower than a GRU"},
    {"attn-compare --example", "the textbook's example: interactions of 100 words"},
};

// The command line as a shell would take it again.
std::string shell_words(int argc, char** argv) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
  std::vector<std::string> words;
  for (const std::string word : std::span(argv, static_cast<std::size_t>(argc))) {
    if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) {
      words.push_back(word);
      continue;
    }
    std::string quoted = "'";
    for (const char character : word) quoted += character == '\'' ? "'\\''" : std::string(1, character);
    words.push_back(quoted + "'");
  }
  return fmt::format("{}", fmt::join(words, " "));
}

void print(const std::string& text) {
  cli::StandardOutput out;
  out.write(text);
  out.finish();
}

ComplexityReport run_watched(const ComplexityGrid& grid, const cli::Messages& messages) {
  std::optional<cli::Progress> progress;
  ComplexityObserver observer;
  observer.warning = [&](const std::string& text) {
    if (progress) progress->clear();
    messages.warning("{}", text);
  };
  observer.cell = [&](std::size_t done, std::size_t total, const std::string& label) {
    if (!progress) progress.emplace(messages, "comparing", total, "combinations");
    progress->update(done, label);
    messages.detail("{}", label);
  };
  observer.stop_requested = [] { return cli::interrupted(); };
  ComplexityReport report = run_complexity(grid, observer);
  if (progress) {
    progress->update(report.cells.size());
    progress->finish();
  }
  return report;
}

// Before the work starts: a folder that cannot be written is an error then, not after two minutes.
void make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail(ExitCode::file, "the folder '{}' cannot be made: {}", folder.string(), error.message());
  const PartFile writable(folder / "complexity.csv");
}

void write_files(const std::filesystem::path& folder, const Plan& plan, const ComplexityReport& report,
                 const std::string& command_line) {
  hdf5::Header header{.format = "attn.complexity", .creator = "attn-compare", .command_line = command_line};
  header.seed = plan.grid.seed;
  std::vector<std::string> backends, devices;
  for (const ComplexityDevice& device : report.devices) {
    backends.push_back(device.backend);
    devices.push_back(device.device);
  }
  header.backend = fmt::format("{}", fmt::join(backends, ", "));
  header.device = fmt::format("{}", fmt::join(devices, ", "));
  write_complexity_file(folder / "complexity.h5", plan.grid, report, header, plan.yaml);
  write_file_atomically(folder / "complexity.csv", as_csv(report));
  write_file_atomically(folder / "complexity.json", as_json(report));
  write_file_atomically(folder / "complexity.md", as_markdown(tables_of(report)));
  for (const Picture& picture : pictures_of(report)) {
    write_file_atomically(folder / (picture.name + ".svg"), picture.svg);
    write_file_atomically(folder / (picture.name + ".png"), convert_svg(picture.svg, PictureFormat::png));
  }
}

std::string printed(const Options& options, const ComplexityReport& report) {
  if (options.json) return as_json(report);
  if (options.csv) return as_csv(report);
  return options.markdown ? as_markdown(tables_of(report)) : as_text(tables_of(report));
}

int run(CLI::App& app, int argc, char** argv) {
  app.description(
      "Compares the complexity of convolution, recurrence and self-attention: counted and measured.");
  cli::set_up(app, examples);
  Options options;
  declare(app, options);
  app.footer(
      "Exit codes: 0 done, 1 internal error, 2 usage, 3 configuration or too little memory, 5 file or disk,\n"
      "6 backend, 130 interrupted (nothing is then written).");
  app.parse(argc, argv);

  if (options.list_keys) {
    print(key_reference());
    return static_cast<int>(ExitCode::ok);
  }
  const Plan plan = resolve(options);
  if (options.dump_config) {
    print(plan.yaml);
    return static_cast<int>(ExitCode::ok);
  }
  if (options.example) {
    print(textbook_example(plan.grid.backends.front(), options.json));
    return static_cast<int>(ExitCode::ok);
  }
  const cli::Level level = options.quiet     ? cli::Level::quiet
                           : options.verbose ? cli::Level::verbose
                                             : cli::Level::normal;
  const cli::Messages messages("attn-compare", level);
  if (!options.output.empty()) make_folder(options.output);
  const ComplexityReport report = run_watched(plan.grid, messages);
  if (!options.output.empty()) {
    write_files(options.output, plan, report, shell_words(argc, argv));
    messages.info("tables, HDF5 and plots are in {}", options.output.string());
  }
  print(printed(options, report));
  return static_cast<int>(ExitCode::ok);
}

}  // namespace
}  // namespace attn::compare

int main(int argc, char** argv) {
  return attn::cli::run_tool(argc, argv, attn::compare::run);
}
