#include "attn/cli/main.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>
#include <vector>

#include "attn/core/error.h"
#include "commands.h"

namespace attn::dump {
namespace {

const std::vector<cli::Example> examples{
    {"attn-dump attention runs/quickstart --input input.txt --output attention.h5",
     "every attention weight of all layers and heads, for each line of a text"},
    {"attn-dump positions --plot positions", "positional encodings as pictures"},
    {"attn-dump parameters runs/quickstart --output parameters.h5", "every parameter of a model"},
    {"attn-dump validate attention.h5", "check a file against its specification"},
    {"attn-dump plot attention.h5 --sentence 3 --output cross.png", "heat-maps of one sentence, a head each"},
    {"attn-dump html attention.h5", "a page that shows everything in a browser, without a network"},
    {"attn-dump example", "self-attention of two queries, every number written out"},
};

constexpr const char* footer =
    "'attn-dump COMMAND --help' shows the options of a command.\n\n"
    "Exit codes: 0 done, 1 internal error, 2 usage or a model that cannot do this, 3 configuration, 4 input "
    "data\n(such as unequal line counts, or a file that is not as specified), 5 file or disk, 6 backend, 7 "
    "done, but\nlines were cropped, skipped or not UTF-8, 130 interrupted (no output file is then written).";

int run(CLI::App& app, int argc, char** argv) {
  app.description("Shows what a model has inside: attention, positions and parameters as HDF5 and pictures.");
  cli::set_up(app, examples);
  app.footer(footer);
  app.require_subcommand(1);
  const std::vector<Command> commands{
      add_attention(app), add_parameters(app), add_positions(app), add_validate(app),
      add_plot(app),      add_html(app),       add_example(app),
  };
  bool quiet = false, verbose = false;
  for (const Command& command : commands) {
    command.parser->add_flag("-q,--quiet", quiet, "Only errors on standard error");
    command.parser->add_flag("-v,--verbose", verbose, "More messages");
  }
  app.parse(argc, argv);

  const cli::Messages messages("attn-dump", quiet     ? cli::Level::quiet
                                            : verbose ? cli::Level::verbose
                                                      : cli::Level::normal);
  const std::span<char*> words(argv, static_cast<std::size_t>(argc));
  const Session session{messages, fmt::format("{}", fmt::join(words, " "))};
  for (const Command& command : commands) {
    if (command.parser->parsed()) return command.run(session);
  }
  fail(ExitCode::internal, "no command was given");
}

}  // namespace
}  // namespace attn::dump

int main(int argc, char** argv) {
  return attn::cli::run_tool(argc, argv, attn::dump::run);
}
