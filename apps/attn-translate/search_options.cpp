#include "search_options.h"

#include "attn/core/error.h"

namespace attn::translate {
namespace {

constexpr const char* scores = "Scores of translations";
constexpr const char* constraints = "Constraints";
constexpr const char* ensembles = "Ensembles";

void declare_scores(CLI::App& app, SearchCommand& command) {
  app.add_option("--length-penalty", command.length_penalty,
                 "Exponent a by which log-probabilities of different lengths n are compared (default 0.6)")
      ->type_name("A")
      ->group(scores);
  app.add_option(
         "--length-penalty-kind", command.length_penalty_kind,
         "What they are divided by: ((5 + n) / 6)^a (gnmt, default), n^a (power; with --length-penalty "
         "1 the mean of the tokens), or nothing (none)")
      ->check(CLI::IsMember({"gnmt", "power", "none"}))
      ->type_name("KIND")
      ->group(scores);
  app.add_option("--coverage-penalty", command.coverage_penalty,
                 "Weight b of the coverage: score + b * sum_i log(min(attention that source token i has had, "
                 "1)) (default 0)")
      ->type_name("B")
      ->group(scores);
}

void declare_constraints(CLI::App& app, SearchCommand& command) {
  app.add_option("--max-length", command.max_length,
                 "Most tokens of a translation, the end symbol counted (default: as many steps as the model "
                 "was trained with if that is fixed, else as --max-length-ratio)")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N")
      ->group(constraints);
  app.add_option("--max-length-ratio", command.max_length_ratio,
                 "Most tokens: R times those of the source, and 10 (default 2, or no such limit with "
                 "--max-length)")
      ->type_name("R")
      ->group(constraints);
  app.add_option("--min-length", command.min_length,
                 "Fewest tokens of a translation, the end symbol counted (default 0)")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N")
      ->group(constraints);
  app.add_option("--no-repeat-ngram", command.no_repeat_ngram,
                 "Never N tokens in a row that the translation has already (default 0: they may repeat)")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N")
      ->group(constraints);
  app.add_option("--prefix", command.prefix,
                 "Each translation begins with the text in the same line of FILE; blank: with nothing given")
      ->type_name("FILE")
      ->group(constraints);
}

void declare_ensembles(CLI::App& app, SearchCommand& command) {
  app.add_option(
         "--ensemble", command.ensemble,
         "A further checkpoint or run directory, of any architecture with the same vocabularies, that "
         "translates together with MODEL; may be given several times")
      ->take_all()
      ->allow_extra_args(false)
      ->type_name("CHECKPOINT")
      ->group(ensembles);
  app.add_option("--ensemble-average", command.ensemble_average,
                 "Of --ensemble: what is averaged at each step, probabilities (default) or log-probabilities")
      ->check(CLI::IsMember({"probabilities", "log-probabilities"}))
      ->type_name("KIND")
      ->group(ensembles);
}

}  // namespace

bool SearchCommand::constrains() const noexcept {
  return coverage_penalty != 0.0 || min_length > 0 || max_length > 0 || no_repeat_ngram > 0 ||
         max_length_ratio || !prefix.empty();
}

void declare(CLI::App& app, SearchCommand& command) {
  declare_scores(app, command);
  declare_constraints(app, command);
  declare_ensembles(app, command);
}

void apply(const SearchCommand& command, SearchOptions& search) {
  const bool none = command.length_penalty_kind == "none";
  if (none && command.length_penalty) {
    fail(ExitCode::usage, "--length-penalty-kind none divides by nothing; leave out --length-penalty");
  }
  search.length_penalty = none ? 0.0 : command.length_penalty.value_or(search.length_penalty);
  if (command.length_penalty_kind == "power") search.length_penalty_kind = LengthPenalty::power;
  search.coverage_penalty = command.coverage_penalty;
  search.max_length = command.max_length;
  search.max_length_ratio = command.max_length_ratio;
  search.min_length = command.min_length;
  search.no_repeat_ngram = command.no_repeat_ngram;
}

EnsembleAverage ensemble_average(const SearchCommand& command) {
  return command.ensemble_average == "probabilities" ? EnsembleAverage::probabilities
                                                     : EnsembleAverage::log_probabilities;
}

}  // namespace attn::translate
