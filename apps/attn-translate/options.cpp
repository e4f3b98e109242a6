#include "options.h"

#include "attn/core/error.h"

namespace attn::translate {
namespace {

void declare_search(CLI::App& app, Options& options) {
  app.add_option("-b,--beam", options.beam, "Hypotheses kept for each line; 1 is greedy search (default 1)")
      ->check(CLI::Range(1, 10000))
      ->type_name("N");
  app.add_option("--n-best", options.n_best,
                 "Print so many translations of each line as 'line ||| text ||| score', lines counted from 0 "
                 "(Moses' format); the beam is at least as large")
      ->check(CLI::Range(1, 10000))
      ->type_name("N");
  app.add_option("--length-penalty", options.length_penalty,
                 "Exponent a in score = log-probability / ((5 + length) / 6)^a (default 0.6)")
      ->type_name("A");
  app.add_option("--max-length", options.max_length,
                 "Most tokens of a translation, the end symbol counted (default: as many steps as the model "
                 "was trained with if that is fixed, else twice the source and 10)")
      ->check(CLI::NonNegativeNumber)
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
  app.add_option("--seed", options.sampling.seed, "Of --sample: seed (default 0)")
      ->needs(sample)
      ->type_name("N");
}

void check_evaluation(const Options& options) {
  const bool evaluates = !options.evaluation.hypotheses.empty();
  if (options.model.empty() && !evaluates)
    fail(ExitCode::usage, "MODEL is missing; name a checkpoint or a run directory of attn-train");
  const bool translates = options.beam || options.list() || options.sample || options.scores ||
                          options.alignments || !options.score.empty() || options.input != "-" ||
                          options.output != "-";
  if (evaluates && (!options.model.empty() || translates)) {
    fail(ExitCode::usage, "--evaluate only scores a file; leave out MODEL and the options of translating");
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
  app.add_flag("--scores", options.scores, "Append ' ||| score' to each translation");
  app.add_flag("--alignments", options.alignments,
               "Append ' ||| i-j ...': source token i, counted from 0, has the largest attention weight of "
               "target token j");
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
  app.add_option("--threads", options.threads, "CPU threads, 0 for all cores (default 0)")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  declare(app, options.evaluation);
  app.add_flag("-q,--quiet", options.quiet, "Only errors on standard error");
  app.add_flag("-v,--verbose", options.verbose, "More messages");
}

TranslatorOptions translator_options(const Options& options) {
  check_evaluation(options);
  if (!options.score.empty()) {
    if (options.list() || options.sample || options.scores || options.alignments || options.beam) {
      fail(ExitCode::usage,
           "--score translates nothing; leave out --beam, --n-best, --sample, --scores and --alignments");
    }
    if (options.score == "-" && options.input == "-")
      fail(ExitCode::usage, "source and target cannot both be standard input; give one as a file");
  }
  if (options.sample && options.beam)
    fail(ExitCode::usage, "--sample searches for nothing; leave out --beam");
  TranslatorOptions translator;
  SearchOptions& search = translator.search;
  search.n_best = options.n_best.value_or(1);
  search.beam = options.beam.value_or(options.sample ? 1 : search.n_best);
  search.length_penalty = options.length_penalty;
  search.max_length = options.max_length;
  if (options.sample) search.sampling = options.sampling;
  translator.batch_tokens = options.batch_tokens;
  translator.batch_size = options.batch_size;
  if (options.alignments) translator.alignments.emplace();
  check(search);
  return translator;
}

}  // namespace attn::translate
