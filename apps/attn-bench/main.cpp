#include "attn/cli/main.h"

#include <vector>

#include "command.h"

namespace attn::bench {

void declare(CLI::App& command, Common& common) {
  command.add_flag("--json", common.json, "Print JSON");
  command.add_flag("-q,--quiet", common.quiet, "Only errors on standard error");
  command.add_flag("-v,--verbose", common.verbose, "More messages");
}

namespace {

const std::vector<cli::Example> examples{
    {"attn-bench list", "which backend plugins there are, and why one cannot run here"},
    {"attn-bench check --backend eigen", "prove that a plugin computes what it should"},
    {"attn-bench check --backend ./libattn-backend-mine.so --filter attention",
     "only the cases of some operations, of a plugin under development"},
    {"attn-bench ops configs/bench/book.yaml --backend eigen --plot speed.svg",
     "time, GFLOP/s and GB/s of operations in the shapes of real models"},
    {"attn-bench model configs/quickstart.yaml --backends eigen,torch --updates 100",
     "the same training on two backends: losses side by side, tokens per second, memory"},
};

constexpr const char* footer =
    "Exit codes: 0 done, 1 internal error, 2 usage, 3 configuration, 4 input data, 5 file or disk,\n"
    "6 a plugin is missing, failed or does not pass the check, 130 interrupted.";

int run(CLI::App& app, int argc, char** argv) {
  app.description("Checks, measures and compares backends.");
  cli::set_up(app, examples);
  app.require_subcommand(1);
  const std::vector<Command> commands{add_list(app), add_check(app), add_ops(app), add_model(app)};
  app.footer(footer);
  app.parse(argc, argv);
  const auto all = app.get_subcommands([](const CLI::App*) { return true; });
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i]->parsed()) return commands[i]();
  }
  return 0;
}

}  // namespace
}  // namespace attn::bench

int main(int argc, char** argv) {
  return attn::cli::run_tool(argc, argv, attn::bench::run);
}
