#include "attn/cli/main.h"

#include <chrono>
#include <optional>

#include "attn/cli/messages.h"
#include "attn/cli/output.h"
#include "attn/cli/progress.h"
#include "attn/cli/signals.h"
#include "attn/core/error.h"
#include "evaluation.h"
#include "options.h"
#include "session.h"
#include "workers.h"

namespace attn::translate {
namespace {

const std::vector<cli::Example> examples{
    {"attn-translate runs/quickstart < input.txt > output.txt",
     "translate line for line; each line in gives exactly one line out"},
    {"attn-translate runs/quickstart --beam 5 --input input.txt --output output.txt",
     "beam search; the output file appears when it is complete"},
    {"attn-translate runs/quickstart --input input.txt --output output.txt --resume --summary summary.json",
     "go on with a run that was killed; counts and checksums at the end"},
    {"attn-translate runs/quickstart --n-best 3 --json < input.txt",
     "the three best translations with scores and tokens, one JSON object a line"},
    {"attn-translate runs/quickstart --alignments --alignment-unit word < input.txt",
     "which source word each word attends to"},
    {"attn-translate runs/quickstart --score references.txt --input input.txt",
     "how probable the model finds given translations"},
    {"attn-translate runs/quickstart --input input.txt --reference references.txt --output output.txt",
     "BLEU, chrF, chrF++ and TER of what the model translates"},
    {"attn-translate --evaluate output.txt --reference references.txt --compare-with baseline.txt",
     "the scores of two files of translations, and whether they differ by more than chance"},
};

constexpr const char* footer =
    "Blank lines give blank lines. A line that is longer than the model takes is cropped, bytes that are "
    "not\n"
    "UTF-8 become U+FFFD; both are warned about with line numbers, and the exit code is then 7.\n\n"
    "Exit codes: 0 done, 1 internal error, 2 usage or a model that cannot do this, 3 configuration, 4 input "
    "data\n(such as unequal line counts), 5 file or disk, 6 backend, 7 done, but lines were cropped, not "
    "UTF-8\nor too long for the memory, 130 interrupted (go on with --resume).";

/// Scores translations that exist already.
int evaluate_file(const Options& options, const cli::Messages& messages, Evaluation& evaluation) {
  Input input(options.evaluation.hypotheses);
  while (const auto line = input.next()) evaluation.add(line->text);
  if (cli::interrupted()) return static_cast<int>(ExitCode::interrupted);
  if (const auto warning = input.report().warning()) messages.warning("{}", *warning);
  cli::StandardOutput output;
  const std::string& name = options.evaluation.hypotheses;
  output.write(evaluation.report(name, name, options.json));
  output.finish();
  const std::size_t bad_lines = input.report().lines_with_replacements + evaluation.bad_lines();
  return static_cast<int>(bad_lines > 0 ? ExitCode::bad_lines : ExitCode::ok);
}

int run(CLI::App& app, int argc, char** argv) {
  app.description("Translates text with a trained model, line for line.");
  cli::set_up(app, examples);
  Options options;
  declare(app, options);
  app.footer(footer);
  app.parse(argc, argv);
  options.given = given_options(app);

  const cli::Messages messages("attn-translate", options.quiet     ? cli::Level::quiet
                                                 : options.verbose ? cli::Level::verbose
                                                                   : cli::Level::normal);
  translator_options(options);  // complains before the model is loaded
  std::optional<Evaluation> evaluation;
  if (options.evaluation.wanted()) evaluation.emplace(options.evaluation, messages);
  if (options.alignments.evaluates()) {
    cli::StandardOutput output;
    output.write(alignment_report(options.alignments.files, options.json));
    output.finish();
    return static_cast<int>(ExitCode::ok);
  }
  if (options.model.empty()) return evaluate_file(options, messages, *evaluation);
  Workers workers(options);
  const TranslationSystem& system = workers.system();
  messages.detail("{}: {} parameters, vocabularies of {} and {} tokens", options.model, workers.parameters(),
                  system.text.source_vocabulary.size(), system.text.target_vocabulary.size());
  messages.detail("backend {} from {}, {}", workers.backend(), workers.device().backend().file().string(),
                  workers.device().name());
  Session session(options, messages, workers, evaluation ? &*evaluation : nullptr);
  const auto start = cli::Progress::Clock::now();
  const int code = session.run();
  const std::chrono::duration<double> elapsed = cli::Progress::Clock::now() - start;
  messages.detail("took {}", cli::format_duration(elapsed.count()));
  return code;
}

}  // namespace
}  // namespace attn::translate

int main(int argc, char** argv) {
  return attn::cli::run_tool(argc, argv, attn::translate::run);
}
