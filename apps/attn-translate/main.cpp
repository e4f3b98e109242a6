#include "attn/cli/main.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>

#include "attn/cli/messages.h"
#include "attn/cli/progress.h"
#include "attn/cli/signals.h"
#include "attn/cli/terminal.h"
#include "attn/core/error.h"
#include "attn/training/translation_system.h"
#include "evaluation.h"
#include "input.h"
#include "options.h"
#include "output.h"
#include "report.h"

namespace attn::translate {
namespace {

constexpr int standard_output = 1, standard_error = 2;

const std::vector<cli::Example> examples{
    {"attn-translate runs/quickstart < input.txt > output.txt",
     "translate line for line; each line in gives exactly one line out"},
    {"attn-translate runs/quickstart --beam 5 --input input.txt --output output.txt",
     "beam search; the output file appears when it is complete"},
    {"attn-translate runs/quickstart --n-best 3 --json < input.txt",
     "the three best translations with scores and tokens, one JSON object a line"},
    {"attn-translate runs/quickstart --alignments < input.txt", "which source token each word attends to"},
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
    "data\n(such as unequal line counts), 5 file or disk, 6 backend, 7 done, but lines were cropped or not "
    "UTF-8,\n130 interrupted (an output file is then not written).";

/// One run of the program.
class Session {
 public:
  /// `evaluation`: what to score the translations against, or null.
  Session(const Options& options, const cli::Messages& messages, const TranslationSystem& system,
          const Evaluation* evaluation)
      : options_(options),
        messages_(messages),
        evaluation_(evaluation),
        output_(options.output),
        translator_(*system.model, system.config, system.text, options_with_hook()) {
    const bool visible = cli::is_terminal(standard_error) && options.input != "-" &&
                         !(options.output == "-" && cli::is_terminal(standard_output));
    if (visible) progress_.emplace(messages, "translating", 0, "lines");
  }

  int translate();
  int score();

 private:
  struct Interrupted {};

  TranslatorOptions options_with_hook() {
    TranslatorOptions translator = translator_options(options_);
    translator.after_batch = [this](std::size_t lines) {
      lines_done_ += lines;
      if (progress_) progress_->update(lines_done_);
      if (cli::interrupted()) throw Interrupted();
    };
    return translator;
  }
  void translate_pending();
  void check_line_count();
  void write_report();
  void warn_if_cropped(const EncodedLine& encoded, const std::string& name, std::size_t line,
                       std::string_view side);
  void warn_of(const TextReport& report);
  int finish();
  int stop();

  const Options& options_;
  const cli::Messages& messages_;
  const Evaluation* evaluation_;
  std::vector<std::string> translations_;  ///< kept only to be scored
  Output output_;
  std::optional<cli::Progress> progress_;
  std::size_t lines_done_ = 0, bad_lines_ = 0;
  Translator translator_;
  std::string input_name_;
  std::vector<SourceLine> pending_;
  std::size_t lines_written_ = 0;
};

void Session::warn_if_cropped(const EncodedLine& encoded, const std::string& name, std::size_t line,
                              std::string_view side) {
  if (const auto warning = cropping_warning(encoded, name, line, side)) {
    ++bad_lines_;
    if (progress_) progress_->clear();
    messages_.warning("{}", *warning);
  }
}

void Session::warn_of(const TextReport& report) {
  bad_lines_ += report.lines_with_replacements;
  if (progress_) progress_->clear();
  if (const auto warning = report.warning()) messages_.warning("{}", *warning);
}

void Session::translate_pending() {
  if (pending_.empty()) return;
  std::vector<std::string> texts;
  for (const SourceLine& line : pending_) texts.push_back(line.text);
  const std::vector<Translation> translations = translator_.translate(texts, lines_written_ + 1);
  for (std::size_t i = 0; i < translations.size(); ++i) {
    warn_if_cropped(translations[i].source, input_name_, translations[i].line, "source");
    if (evaluation_ != nullptr) translations_.push_back(translations[i].best.front().text);
    // Scores take the place of translations on standard output.
    if (evaluation_ == nullptr || options_.output != "-")
      output_.write(format(translations[i], pending_[i], options_));
  }
  lines_written_ += translations.size();
  pending_.clear();
  output_.flush();
}

int Session::stop() {
  if (progress_) progress_->clear();
  messages_.info("interrupted after {} lines{}", lines_written_,
                 options_.output == "-" ? "" : "; nothing was written to " + options_.output);
  return static_cast<int>(ExitCode::interrupted);
}

int Session::finish() {
  output_.finish();
  if (progress_) progress_->finish();
  write_report();
  return static_cast<int>(bad_lines_ > 0 ? ExitCode::bad_lines : ExitCode::ok);
}

// Before hours are spent on translations that cannot be scored.
void Session::check_line_count() {
  if (evaluation_ == nullptr || options_.input == "-") return;
  LineReader reader(options_.input);
  while (reader.next()) {
  }
  evaluation_->check_count(options_.input, reader.report().lines);
}

void Session::write_report() {
  if (evaluation_ == nullptr) return;
  evaluation_->check_count(options_.input, translations_.size());
  bad_lines_ += evaluation_->bad_lines();
  cli::StandardOutput standard_output_stream;
  standard_output_stream.write(evaluation_->report(options_.model, translations_, options_.json));
  standard_output_stream.finish();
}

int Session::translate() {
  check_line_count();
  try {
    Input input(options_.input, [this] { translate_pending(); });
    input_name_ = input.report().name;
    while (!cli::interrupted()) {
      const std::size_t replaced = input.report().lines_with_replacements;
      std::optional<std::string> line = input.next();
      if (!line) break;
      pending_.push_back({std::move(*line), input.report().lines_with_replacements > replaced});
      if (pending_.size() >= input.window()) translate_pending();
    }
    if (cli::interrupted()) return stop();
    translate_pending();
    warn_of(input.report());
  } catch (const Interrupted&) {
    return stop();
  }
  return finish();
}

int Session::score() {
  const TextLines sources = read_lines(options_.input), targets = read_lines(options_.score);
  if (sources.lines.size() != targets.lines.size()) {
    fail(ExitCode::input_data,
         "{} has {} lines and {} has {}; line i of one must belong to line i of the other",
         sources.report.name, sources.lines.size(), targets.report.name, targets.lines.size());
  }
  try {
    for (std::size_t begin = 0; begin < sources.lines.size(); begin += file_window) {
      const std::size_t count = std::min(file_window, sources.lines.size() - begin);
      const auto scored = translator_.score(std::span(sources.lines).subspan(begin, count),
                                            std::span(targets.lines).subspan(begin, count), begin + 1);
      for (std::size_t i = 0; i < count; ++i) {
        warn_if_cropped(scored[i].source, sources.report.name, scored[i].line, "source");
        warn_if_cropped(scored[i].target, targets.report.name, scored[i].line, "target");
        output_.write(format(scored[i], sources.lines[begin + i], targets.lines[begin + i], options_));
      }
      lines_written_ += count;
      output_.flush();
    }
  } catch (const Interrupted&) {
    return stop();
  }
  warn_of(sources.report);
  warn_of(targets.report);
  return finish();
}

/// Scores translations that exist already.
int evaluate_file(const Options& options, Evaluation& evaluation) {
  const std::string& name = options.evaluation.hypotheses;
  const std::vector<std::string> translations = evaluation.read(name);
  cli::StandardOutput output;
  output.write(evaluation.report(name, translations, options.json));
  output.finish();
  return static_cast<int>(evaluation.bad_lines() > 0 ? ExitCode::bad_lines : ExitCode::ok);
}

int run(CLI::App& app, int argc, char** argv) {
  app.description("Translates text with a trained model, line for line.");
  cli::set_up(app, examples);
  Options options;
  declare(app, options);
  app.footer(footer);
  app.parse(argc, argv);

  const cli::Messages messages("attn-translate", options.quiet     ? cli::Level::quiet
                                                 : options.verbose ? cli::Level::verbose
                                                                   : cli::Level::normal);
  translator_options(options);  // complains before the model is loaded
  std::optional<Evaluation> evaluation;
  if (options.evaluation.wanted()) evaluation.emplace(options.evaluation, messages);
  if (options.model.empty()) return evaluate_file(options, *evaluation);
  const auto device = Device::open(options.backend, {.device = options.device, .threads = options.threads});
  const TranslationSystem system = load_translation_system(options.model, device);
  messages.detail("{}: {} parameters, vocabularies of {} and {} tokens", options.model,
                  system.model->parameters().count(), system.text.source_vocabulary.size(),
                  system.text.target_vocabulary.size());
  messages.detail("backend {} from {}, {}", device->backend().name(), device->backend().file().string(),
                  device->name());
  Session session(options, messages, system, evaluation ? &*evaluation : nullptr);
  const auto start = cli::Progress::Clock::now();
  const int code = options.score.empty() ? session.translate() : session.score();
  const std::chrono::duration<double> elapsed = cli::Progress::Clock::now() - start;
  messages.detail("took {}", cli::format_duration(elapsed.count()));
  return code;
}

}  // namespace
}  // namespace attn::translate

int main(int argc, char** argv) {
  return attn::cli::run_tool(argc, argv, attn::translate::run);
}
