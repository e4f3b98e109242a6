#include "summary.h"

#include <cstdint>
#include <filesystem>

#include "attn/core/error.h"
#include "attn/experiment/learning_curves.h"
#include "attn/experiment/run_comparison.h"
#include "attn/figures/picture.h"
#include "attn/io/atomic_file.h"

namespace attn::train {
namespace {

std::string formatted(const RunComparison& comparison, const std::vector<RunHistory>& runs,
                      const std::string& format) {
  if (format == "json") return to_json(comparison, runs);
  if (format == "csv") return to_csv(comparison);
  return format == "markdown" ? to_markdown(comparison) : to_text(comparison);
}

std::vector<RunHistory> read_runs(const std::vector<std::string>& paths) {
  if (paths.empty()) fail(ExitCode::usage, "no run given; name run directories, or a folder that holds some");
  std::vector<RunHistory> runs;
  for (const std::filesystem::path& folder : find_runs({paths.begin(), paths.end()}))
    runs.push_back(read_run(folder));
  if (runs.empty())
    fail(ExitCode::file, "{} holds no run directory",
         paths.size() == 1 ? paths.front() : "none of the paths");
  return runs;
}

}  // namespace

void declare_summary(CLI::App& app, SummaryOptions& options) {
  const auto comparing = [](CLI::Option* option) { return option->group("Comparing runs"); };
  comparing(
      app.add_flag("--summary", options.table,
                   "Print what differs between runs and their results; instead of configurations name run "
                   "directories, or folders that hold some"));
  comparing(app.add_option("--curves", options.curves,
                           "Draw the learning curves of these runs in one picture (.svg, .png or .pdf)"))
      ->type_name("FILE");
  comparing(app.add_option("--metric", options.metric,
                           "Metric of --curves, as valid_bleu (default: the one of the validation)"));
  comparing(app.add_flag_function(
      "--over-seeds,!--no-over-seeds", [&options](std::int64_t count) { options.over_seeds = count > 0; },
      "Mean and standard deviation of runs that differ in the seed alone (default: if nothing else "
      "differs)"));
  comparing(app.add_option("--sort-by", options.sort_by, "Metric, the best first, or key to sort by"));
  comparing(app.add_option("--format", options.format, "table, csv, markdown or json"))
      ->check(CLI::IsMember({"table", "csv", "markdown", "json"}));
  comparing(app.add_option("--output", options.output, "File for the summary, instead of standard output"))
      ->type_name("FILE");
}

void compare(const SummaryOptions& options, bool json, const std::vector<std::string>& paths,
             const cli::Messages& messages, cli::StandardOutput& out) {
  // Before the work: what the name of the picture asks for.
  if (!options.curves.empty()) (void)picture_format_of_file(options.curves);
  const std::vector<RunHistory> runs = read_runs(paths);
  RunComparison comparison = compare_runs(runs, options.over_seeds);
  if (!options.sort_by.empty()) sort_rows(comparison, options.sort_by);
  if (!options.curves.empty()) {
    const std::string metric = options.metric.empty() ? usual_curve(runs) : options.metric;
    const LineChart chart = learning_curves(comparison, runs, metric);
    write_file_atomically(options.curves, convert_svg(to_svg(chart), picture_format_of_file(options.curves)));
    messages.info("wrote {}", options.curves);
  }
  if (!options.table) return;
  const std::string text = formatted(comparison, runs, json ? "json" : options.format);
  if (options.output.empty()) {
    out.write(text);
  } else {
    write_file_atomically(options.output, text);
    messages.info("wrote {}", options.output);
  }
}

}  // namespace attn::train
