#pragma once
#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/cli/messages.h"
#include "attn/cli/progress.h"
#include "attn/decoding/parallel_translator.h"
#include "attn/training/translation_system.h"
#include "counts.h"
#include "evaluation.h"
#include "input.h"
#include "options.h"
#include "output.h"
#include "summary.h"
#include "workers.h"

namespace attn::translate {

/// One run of the program: reads lines, has them translated or scored window by window, and writes what
/// comes out in the order of the lines.
class Session {
 public:
  /// `evaluation`: what to score the translations against, or null. All must outlive the session. Throws as
  /// Output and Workers.
  Session(const Options& options, const cli::Messages& messages, Workers& workers, Evaluation* evaluation);

  /// Answers all lines; the exit code. After an interruption or an error, what is written stays for --resume.
  int run();

 private:
  struct Interrupted {};
  struct Window {
    std::vector<InputLine> lines;
    std::vector<InputLine> targets;  ///< of --score
    std::vector<std::string> prefixes;
  };

  bool scores_given() const { return targets_.has_value(); }
  bool writes() const { return evaluation_ == nullptr || options_.output != "-"; }
  PartRecord this_run() const;
  void after_batch(std::size_t lines);
  void open_inputs();
  void check_line_counts();
  void skip_resumed();
  bool read_line(Window& window);
  [[noreturn]] void fail_line_counts(std::uint64_t sources, std::uint64_t targets) const;
  void answer();
  std::string translate(const Window& window);
  std::string score(const Window& window);
  void count_source(const EncodedLine& source, const std::string& name, std::size_t line,
                    std::string_view side);
  void count_prefix(const EncodedLine& prefix, std::size_t line);
  void count_memory(bool out_of_memory, std::size_t line);
  void warn(const std::string& sentence);
  void warn_of(const TextReport& report);
  void remember();
  void check_completeness();
  void tell_perplexity();
  void write_report();
  void write_summary(bool complete, int exit_code);
  int finish();
  int stop();

  const Options& options_;
  const cli::Messages& messages_;
  Workers& workers_;
  Evaluation* evaluation_;
  ParallelTranslator translator_;
  Output output_;
  std::optional<AtomicFile> alignments_;  ///< --alignments-output
  std::optional<cli::Progress> progress_;
  std::optional<Input> input_, targets_, prefixes_;
  Window pending_;
  Counts counts_;
  std::string input_digest_, target_digest_;  ///< of the lines that are answered
  bool consistent_ = true;                    ///< the output holds whole windows
  double log_probability_ = 0.0;              ///< of all targets of this run
  std::uint64_t scored_tokens_ = 0;           ///< with their end symbols
  std::size_t lines_in_progress_ = 0, bad_lines_ = 0;
  std::uint64_t resumed_lines_ = 0;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace attn::translate
