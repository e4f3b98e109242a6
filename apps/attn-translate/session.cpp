#include "session.h"

#include <algorithm>
#include <cmath>

#include "attn/cli/signals.h"
#include "attn/cli/terminal.h"
#include "attn/core/error.h"
#include "attn/io/atomic_file.h"
#include "report.h"

namespace attn::translate {
namespace {

constexpr int standard_output = 1, standard_error = 2;

std::uint64_t unknown_of(const std::vector<std::int32_t>& ids) {
  return static_cast<std::uint64_t>(std::count(ids.begin(), ids.end(), Vocabulary::unk));
}

std::vector<std::string> texts_of(const std::vector<InputLine>& lines) {
  std::vector<std::string> texts;
  texts.reserve(lines.size());
  for (const InputLine& line : lines) texts.push_back(line.text);
  return texts;
}

}  // namespace

Session::Session(const Options& options, const cli::Messages& messages, Workers& workers,
                 Evaluation* evaluation)
    : options_(options),
      messages_(messages),
      workers_(workers),
      evaluation_(evaluation),
      translator_(workers.count(),
                  [this](std::size_t worker) {
                    return workers_.translator(worker, [this](std::size_t lines) { after_batch(lines); });
                  }),
      output_(options.output, options.resume, this_run()) {
  if (!options.alignments.output.empty()) alignments_.emplace(options.alignments.output);
  const bool visible = cli::is_terminal(standard_error) && options.input != "-" &&
                       !(options.output == "-" && cli::is_terminal(standard_output));
  if (visible) progress_.emplace(messages, "translating", 0, "lines");
}

PartRecord Session::this_run() const {
  PartRecord record;
  record.model_sha256 = workers_.model_sha256();
  record.options = options_.given;
  // A file of the same name may be another one when the run is resumed. A pipe can be read only once.
  const auto add_contents = [&record](const char* option, const std::string& file) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(file, ignored)) return;
    record.options[fmt::format("the SHA-256 of {}'s file", option)] = sha256_of_file(file);
  };
  add_contents("--prefix", options_.search.prefix);
  add_contents("--dictionary", options_.dictionary);
  return record;
}

// Workers call it, one at a time.
void Session::after_batch(std::size_t lines) {
  lines_in_progress_ += lines;
  if (progress_) progress_->update(lines_in_progress_);
  if (cli::interrupted()) throw Interrupted();
}

void Session::warn(const std::string& sentence) {
  if (progress_) progress_->clear();
  messages_.warning("{}", sentence);
}

void Session::warn_of(const TextReport& report) {
  bad_lines_ += report.lines_with_replacements;
  if (const auto warning = report.warning()) warn(*warning);
}

void Session::count_source(const EncodedLine& encoded, const std::string& name, std::size_t line,
                           std::string_view side) {
  if (const auto warning = cropping_warning(encoded, name, line, side)) {
    ++counts_.cropped;
    warn(*warning);
  }
}

void Session::count_prefix(const EncodedLine& prefix, std::size_t line) {
  const std::uint64_t unknown = unknown_of(prefix.ids);
  if (unknown == 0) return;
  ++bad_lines_;
  warn(
      fmt::format("{}:{}: the model does not know {} of the {} tokens of this prefix, and writes {} for each",
                  options_.search.prefix, line, unknown, prefix.ids.size(),
                  workers_.system().text.target_vocabulary.token(Vocabulary::unk)));
}

void Session::count_memory(bool out_of_memory, std::size_t line) {
  if (!out_of_memory) return;
  ++counts_.out_of_memory;
  warn(fmt::format("{}:{}: there is not enough memory for this line, even alone; its {}",
                   input_->report().name, line,
                   scores_given() ? "score is missing" : "translation is left blank"));
}

std::string Session::translate(const Window& window) {
  std::string written;
  const std::vector<Translation> translations =
      translator_.translate(texts_of(window.lines), counts_.lines + 1, window.prefixes);
  for (std::size_t i = 0; i < translations.size(); ++i) {
    const Translation& translation = translations[i];
    count_source(translation.source, input_->report().name, translation.line, "source");
    count_prefix(translation.prefix, translation.line);
    count_memory(translation.out_of_memory, translation.line);
    const Hypothesis& best = translation.best.front().hypothesis;
    counts_.blank += translation.blank ? 1 : 0;
    counts_.source_tokens += translation.source.tokens.size();
    counts_.unknown += unknown_of(translation.source.ids);
    counts_.target_tokens += best.tokens.size();
    counts_.unknown_made += unknown_of(best.tokens);
    counts_.replaced += translation.best.front().replaced;
    counts_.texts += options_.json ? 1 : translation.best.size();
    if (evaluation_ != nullptr) evaluation_->add(translation.best.front().text);
    if (writes()) written += format(translation, window.lines[i], options_);
    if (alignments_) alignments_->write(alignment_lines(translation, options_));
  }
  return written;
}

std::string Session::score(const Window& window) {
  std::string written;
  const std::vector<ScoredLine> scored =
      translator_.score(texts_of(window.lines), texts_of(window.targets), counts_.lines + 1);
  for (std::size_t i = 0; i < scored.size(); ++i) {
    count_source(scored[i].source, input_->report().name, scored[i].line, "source");
    count_source(scored[i].target, targets_->report().name, scored[i].line, "target");
    count_memory(scored[i].out_of_memory, scored[i].line);
    counts_.blank += scored[i].source.tokens_found == 0 ? 1 : 0;
    counts_.source_tokens += scored[i].source.tokens.size();
    counts_.unknown += unknown_of(scored[i].source.ids);
    counts_.target_tokens += scored[i].target.tokens.size();
    counts_.unknown_made += unknown_of(scored[i].target.ids);
    ++counts_.texts;
    if (!scored[i].out_of_memory) {
      log_probability_ += scored[i].log_probability;
      scored_tokens_ += scored[i].token_log_probabilities.size();
    }
    written += format(scored[i], window.lines[i].text, window.targets[i].text, options_);
    if (alignments_) alignments_->write(alignment_lines(scored[i], options_));
  }
  return written;
}

// Everything that has been read so far.
void Session::answer() {
  if (pending_.lines.empty()) return;
  const std::string written = scores_given() ? score(pending_) : translate(pending_);
  consistent_ = false;
  output_.write(written);
  output_.flush();
  consistent_ = true;
  counts_.lines += pending_.lines.size();
  input_digest_ = input_->lines_digest();
  if (scores_given()) target_digest_ = targets_->lines_digest();
  pending_ = {};
  if (output_.wants_record()) remember();
}

void Session::remember() {
  if (consistent_ && counts_.lines > 0) output_.remember(counts_, input_digest_, target_digest_);
}

void Session::open_inputs() {
  if (!options_.score.empty()) targets_.emplace(options_.score);
  if (!options_.search.prefix.empty()) prefixes_.emplace(options_.search.prefix);
  // Targets first: only one of the two can keep lines waiting, and both must be there when the idle call
  // comes.
  input_.emplace(options_.input, [this] {
    if (input_ && !scores_given()) answer();
  });
}

void Session::fail_line_counts(std::uint64_t sources, std::uint64_t targets) const {
  fail(ExitCode::input_data,
       "{} has {} lines and {} has {}; line i of one must belong to line i of the other",
       input_->report().name, sources, targets_->report().name, targets);
}

// Before hours are spent on lines that do not belong together.
void Session::check_line_counts() {
  const auto count = [](const std::string& path) {
    LineReader reader(path);
    while (reader.next()) {
    }
    return reader.report().lines;
  };
  const auto countable = [](const std::string& path) {
    std::error_code ignored;
    return path != "-" && std::filesystem::is_regular_file(path, ignored);
  };
  if (!countable(options_.input)) return;
  if (evaluation_ != nullptr) evaluation_->check_count(options_.input, count(options_.input));
  if (!scores_given() || !countable(options_.score)) return;
  const std::size_t sources = count(options_.input), targets = count(options_.score);
  if (sources != targets) fail_line_counts(sources, targets);
}

// Reads a line, or a pair; false at the end.
bool Session::read_line(Window& window) {
  std::optional<InputLine> line = input_->next();
  if (scores_given()) {
    std::optional<InputLine> target = targets_->next();
    if (cli::interrupted()) return false;
    if (line.has_value() != target.has_value()) {
      while (input_->next()) {
      }
      while (targets_->next()) {
      }
      fail_line_counts(input_->report().lines, targets_->report().lines);
    }
    if (target) window.targets.push_back(std::move(*target));
  }
  if (prefixes_) {
    std::optional<InputLine> prefix = prefixes_->next();
    if (cli::interrupted()) return false;
    if (line.has_value() != prefix.has_value()) {
      fail(ExitCode::input_data, "{} has {} lines than {}; line i of one must belong to line i of the other",
           options_.search.prefix, line ? "fewer" : "more", input_->report().name);
    }
    if (prefix) window.prefixes.push_back(std::move(prefix->text));
  }
  if (line) window.lines.push_back(std::move(*line));
  return line.has_value();
}

// The lines that an earlier run has answered must be the first ones of this input.
void Session::skip_resumed() {
  if (!output_.resumed()) return;
  const PartRecord& done = *output_.resumed();
  Window skipped;
  for (std::uint64_t i = 0; i < done.counts.lines && read_line(skipped); ++i) skipped = {};
  if (cli::interrupted()) return;
  if (input_->lines_digest() != done.input_sha256 ||
      (scores_given() && targets_->lines_digest() != done.target_sha256)) {
    fail(ExitCode::input_data,
         "{} cannot be resumed: it was begun with another input than {}, whose first {} lines differ; resume "
         "with the same input, or remove {} to translate from the first line",
         options_.output, input_->report().name, done.counts.lines,
         PartFile::name_for(options_.output).string());
  }
  counts_ = done.counts;
  resumed_lines_ = counts_.lines;
  lines_in_progress_ = counts_.lines;
  input_digest_ = done.input_sha256;
  target_digest_ = done.target_sha256;
  if (progress_) progress_->resume_at(counts_.lines);
  messages_.info("{}: going on after {} lines", options_.output, counts_.lines);
}

// One line in, one answer out: whatever happened above, this is what the program promises.
void Session::check_completeness() {
  const std::uint64_t read = input_->report().lines;
  if (counts_.lines != read)
    fail(ExitCode::internal, "{} lines were read and {} answered", read, counts_.lines);
  if (writes() && output_.lines() != counts_.texts) {
    fail(ExitCode::internal, "{} lines were written where {} belong to {} lines of input", output_.lines(),
         counts_.texts, read);
  }
}

// exp(-log-probability / tokens) of all targets, end symbols counted.
void Session::tell_perplexity() {
  if (!scores_given() || scored_tokens_ == 0) return;
  const double perplexity = std::exp(-log_probability_ / static_cast<double>(scored_tokens_));
  const std::string sentence = fmt::format("perplexity {:.4f} a token, of {} tokens in {} lines", perplexity,
                                           scored_tokens_, counts_.lines - resumed_lines_);
  if (cli::is_terminal(standard_error)) {
    messages_.info("{}", sentence);
  } else {
    messages_.detail("{}", sentence);
  }
}

void Session::write_report() {
  if (evaluation_ == nullptr) return;
  const std::string report = evaluation_->report(options_.input, options_.model, options_.json);
  bad_lines_ += evaluation_->bad_lines();
  cli::StandardOutput stream;
  stream.write(report);
  stream.finish();
}

void Session::write_summary(bool complete, int exit_code) {
  if (options_.summary.empty()) return;
  Summary summary;
  summary.complete = complete;
  summary.exit_code = exit_code;
  summary.lines_in = input_->report().lines;
  summary.invalid_utf8 = input_->report().lines_with_replacements +
                         (scores_given() ? targets_->report().lines_with_replacements : 0);
  summary.counts = counts_;
  summary.resumed_lines = resumed_lines_;
  summary.input = {input_->report().name, input_->bytes_read(), complete ? input_->digest() : ""};
  if (scores_given())
    summary.targets = {targets_->report().name, targets_->bytes_read(), complete ? targets_->digest() : ""};
  if (complete) summary.input.bytes = input_->bytes_read();
  if (writes()) {
    summary.output = {options_.output == "-" ? "standard output" : options_.output, output_.bytes(),
                      output_.digest()};
  }
  summary.model = options_.model;
  summary.model_sha256 = workers_.model_sha256();
  summary.options = options_.given;
  summary.backend = workers_.backend();
  summary.workers = translator_.workers_made();
  summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  attn::translate::write_summary(options_.summary, summary);
}

int Session::stop() {
  if (progress_) progress_->clear();
  remember();
  messages_.info("interrupted after {} lines{}", counts_.lines,
                 options_.output == "-" ? ""
                 : output_.resumable()  ? "; go on with --resume"
                                        : "; nothing was written to " + options_.output);
  constexpr int code = static_cast<int>(ExitCode::interrupted);
  write_summary(false, code);
  return code;
}

int Session::finish() {
  warn_of(input_->report());
  if (scores_given()) warn_of(targets_->report());
  if (prefixes_) warn_of(prefixes_->report());
  check_completeness();
  output_.finish();
  if (alignments_) alignments_->commit();
  if (progress_) progress_->finish();
  tell_perplexity();
  write_report();
  bad_lines_ += counts_.cropped + counts_.out_of_memory;
  const int code = static_cast<int>(bad_lines_ > 0 ? ExitCode::bad_lines : ExitCode::ok);
  write_summary(true, code);
  return code;
}

int Session::run() {
  start_ = std::chrono::steady_clock::now();
  open_inputs();
  check_line_counts();
  try {
    skip_resumed();
    const std::size_t window = options_.flush ? 1 : options_.window.value_or(input_->window());
    while (!cli::interrupted() && read_line(pending_)) {
      if (pending_.lines.size() >= window) answer();
    }
    if (cli::interrupted()) return stop();
    answer();
  } catch (const Interrupted&) {
    return stop();
  } catch (...) {
    const std::exception_ptr failure = std::current_exception();
    try {
      remember();
    } catch (...) {
      // What was remembered before still holds.
    }
    std::rethrow_exception(failure);
  }
  return finish();
}

}  // namespace attn::translate
