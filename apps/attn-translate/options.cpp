#include "options.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "attn/core/error.h"

namespace attn::translate {
namespace {

void declare_search(CLI::App& app, Options& options) {
  app.add_option("-b,--beam", options.beam, "Hypotheses kept for each line; 1 is greedy search (default 1)")
      ->check(CLI::Range(1, 10000))
      ->type_name("N");
  app.add_option("--n-best", options.n_best,
                 "Print so many translations of each line as 'line ||| text ||| features ||| score', lines "
                 "counted from 0 (Moses' format); without --beam, the beam is as large")
      ->check(CLI::Range(1, 10000))
      ->type_name("N");
  auto* sample = app.add_flag("--sample", options.sample,
                              "Draw translations from the model's distribution instead of searching");
  app.add_option("--temperature", options.sampling.temperature, "Of --sample: divides the logits (default 1)")
      ->needs(sample)
      ->type_name("T");
  app.add_option("--top-k", options.sampling.top_k,
                 "Of --sample: draw among the K most probable tokens (default 0: all)")
      ->needs(sample)
      ->type_name("K");
  app.add_option("--top-p", options.sampling.top_p,
                 "Of --sample: draw among the fewest most probable tokens that together have probability P, "
                 "after --temperature and --top-k (default 1: all)")
      ->needs(sample)
      ->type_name("P");
  app.add_option("--seed", options.sampling.seed, "Of --sample: seed (default 0)")
      ->needs(sample)
      ->type_name("N");
}

void declare_run(CLI::App& app, Options& options) {
  app.add_option("--memory-limit", options.memory_limit,
                 "Most memory for computing, in MiB, all threads together; batches that need more are halved")
      ->check(CLI::PositiveNumber)
      ->type_name("MIB");
  app.add_option("--window", options.window,
                 "Lines that are read, sorted by length, translated and written together (default 4096, 512 "
                 "from a pipe); changes speed and memory only")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  app.add_flag("--flush", options.flush,
               "Answer every line before the next one is read; from a terminal or a slow pipe this happens "
               "anyway");
  app.add_flag("--resume", options.resume,
               "Go on with the --output file of a run that was interrupted or killed; begin it if there is "
               "none");
  app.add_option("--summary", options.summary,
                 "Write one JSON object about the run to FILE: lines in and out, tokens, checksums, time; - "
                 "is standard error")
      ->type_name("FILE");
}

// Where things are, and how they are done rather than what.
constexpr std::array<std::string_view, 16> without_effect{
    "MODEL",          "--input",   "--output",  "--score",  "--reference", "--batch-tokens",
    "--batch-size",   "--threads", "--window",  "--flush",  "--resume",    "--summary",
    "--memory-limit", "--quiet",   "--verbose", "--version"};

void check_run(const Options& options) {
  if (!options.resume) return;
  if (options.output == "-") fail(ExitCode::usage, "--resume goes on with a file; name it by --output FILE");
  if (!options.alignments.output.empty()) {
    fail(ExitCode::usage,
         "--resume goes on with one file; leave out --alignments-output, so that links stand behind the "
         "translations");
  }
  if (options.evaluation.wanted()) {
    fail(ExitCode::usage,
         "--resume does not read again what is translated already; leave out --reference and score the whole "
         "file afterwards by --evaluate");
  }
}

void check_evaluation(const Options& options) {
  const bool evaluates = !options.evaluation.hypotheses.empty();
  if (options.model.empty() && !evaluates && !options.alignments.evaluates())
    fail(ExitCode::usage, "MODEL is missing; name a checkpoint or a run directory of attn-train");
  const bool translates = options.beam || options.list() || options.sample || options.scores ||
                          options.search.constrains() || options.alignments.wanted() ||
                          !options.score.empty() || options.input != "-" || options.output != "-";
  if (evaluates && (!options.model.empty() || translates)) {
    fail(ExitCode::usage, "--evaluate only scores a file; leave out MODEL and the options of translating");
  }
  if (options.alignments.evaluates() &&
      (!options.model.empty() || translates || options.evaluation.wanted())) {
    fail(ExitCode::usage,
         "--evaluate-alignments only scores links; leave out MODEL and the options of translating and of "
         "--evaluate");
  }
  if (options.evaluation.wanted() && !options.score.empty())
    fail(ExitCode::usage, "--score gives log-probabilities and --reference scores translations; choose one");
  check(options.evaluation, evaluates ? "" : options.input);
}

}  // namespace

void declare(CLI::App& app, Options& options) {
  app.add_option("MODEL", options.model, "A checkpoint, or a run directory of attn-train");
  app.add_option("-i,--input", options.input, "Source text, also gzipped; - is standard input (default)")
      ->type_name("FILE");
  app.add_option("-o,--output", options.output,
                 "Where translations go, complete or not at all; - is standard output (default)")
      ->type_name("FILE");
  declare_search(app, options);
  app.add_option("--score", options.score,
                 "Translate nothing; print the log-probability (nats) of each line of FILE as a translation "
                 "of the same line of the input")
      ->type_name("FILE");
  app.add_flag("--score-tokens", options.score_tokens,
               "Of --score: append ' ||| token|log-probability ...', the end symbol last");
  app.add_flag("--scores", options.scores, "Append ' ||| score' to each translation");
  auto* replace = app.add_flag("--replace-unknown", options.replace_unknown,
                               "Replace each <unk> in a translation by the source token with the largest "
                               "attention weight");
  app.add_option("--dictionary", options.dictionary,
                 "Of --replace-unknown: translate that token by FILE if it is there, lines SOURCE<TAB>TARGET")
      ->needs(replace)
      ->type_name("FILE");
  app.add_flag("--json", options.json, "Print one JSON object a line with everything that is known of it");
  app.add_option(
         "--batch-tokens", options.batch_tokens,
         "Most source positions a batch, times the beam (default 8192); changes speed and memory only")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  app.add_option("--batch-size", options.batch_size, "Most lines a batch; changes speed and memory only")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  app.add_option("--backend", options.backend, "Backend: a name or a plugin file (default eigen)")
      ->type_name("NAME|PATH");
  app.add_option("--device", options.device, "Index of the backend's device (default 0)")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  app.add_option("--threads", options.threads,
                 "Batches that are translated at the same time on a CPU, each by a thread with a copy of the "
                 "model; 0 "
                 "for as many as there are cores (default 0)")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  declare_run(app, options);
  declare(app, options.search);
  declare(app, options.alignments);
  declare(app, options.evaluation);
  app.add_flag("-q,--quiet", options.quiet, "Only errors on standard error");
  app.add_flag("-v,--verbose", options.verbose, "More messages");
}

nlohmann::ordered_json given_options(const CLI::App& app) {
  nlohmann::ordered_json given = nlohmann::ordered_json::object();
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_name();
    const bool known = std::find(without_effect.begin(), without_effect.end(), name) != without_effect.end();
    if (option->count() == 0 || known || option->get_group() == "Evaluation") continue;
    const std::vector<std::string>& values = option->results();
    given[name] =
        values.size() == 1 ? nlohmann::ordered_json(values.front()) : nlohmann::ordered_json(values);
  }
  // Whether lines are scored decides, not where the targets are: those are known by their digest.
  if (app.count("--score") > 0) given["--score"] = "true";
  return given;
}

TranslatorOptions translator_options(const Options& options) {
  check_run(options);
  check_evaluation(options);
  check(options.alignments);
  if (!options.score.empty()) {
    if (options.list() || options.sample || options.scores || options.beam || options.search.constrains()) {
      fail(ExitCode::usage,
           "--score translates nothing; leave out --beam, --n-best, --sample, --scores, --prefix and what "
           "limits translations");
    }
    if (options.score == "-" && options.input == "-")
      fail(ExitCode::usage, "source and target cannot both be standard input; give one as a file");
  }
  if (options.score_tokens && options.score.empty())
    fail(ExitCode::usage, "--score-tokens needs --score FILE, the translations whose tokens are scored");
  if (options.search.prefix == "-" && options.input == "-")
    fail(ExitCode::usage, "source and prefixes cannot both be standard input; give one as a file");
  if (options.sample && options.beam)
    fail(ExitCode::usage, "--sample searches for nothing; leave out --beam");
  TranslatorOptions translator;
  SearchOptions& search = translator.search;
  search.n_best = options.n_best.value_or(1);
  search.beam = options.beam.value_or(options.sample ? 1 : search.n_best);
  apply(options.search, search);
  if (options.sample) search.sampling = options.sampling;
  translator.batch_tokens = options.batch_tokens;
  translator.batch_size = options.batch_size;
  translator.alignments = alignment_options(options.alignments);
  translator.prefix_name = options.search.prefix;
  check(search);
  return translator;
}

}  // namespace attn::translate
