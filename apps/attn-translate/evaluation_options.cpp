#include "evaluation_options.h"

#include <algorithm>
#include <array>

#include "attn/core/error.h"

namespace attn::translate {
namespace {

constexpr const char* group = "Evaluation";

constexpr std::array tokenizers{BleuTokenizer::mteval_13a, BleuTokenizer::international,
                                BleuTokenizer::character, BleuTokenizer::chinese, BleuTokenizer::none};
constexpr std::array smoothings{BleuSmoothing::exponential, BleuSmoothing::floor, BleuSmoothing::add_k,
                                BleuSmoothing::none};

template<typename Choices>
std::vector<std::string> names_of(const Choices& choices) {
  std::vector<std::string> names;
  for (const auto choice : choices) names.emplace_back(name_of(choice));
  return names;
}

/// The choice of that name; the command line has only such names.
template<typename Choices>
auto named(const std::string& name, const Choices& choices) {
  return *std::find_if(choices.begin(), choices.end(), [&](auto choice) { return name_of(choice) == name; });
}

void declare_files(CLI::App& app, EvaluationOptions& options) {
  app.add_option("--reference", options.references,
                 "Print the scores of the translations against those in FILE, line for line, instead of the "
                 "translations, which go to --output if that is given; repeat for several references")
      ->allow_extra_args(false)
      ->type_name("FILE")
      ->group(group);
  app.add_option("--evaluate", options.hypotheses,
                 "Translate nothing and take no MODEL: score the translations in FILE against --reference")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--compare-with", options.compare_with,
                 "Also score the translations in FILE, the baseline, and test the difference by paired "
                 "bootstrap resampling; * marks p <= 0.05")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--metrics", options.metrics,
                 "Scores to print: bleu, chrf, chrf++, ter (default bleu,chrf,chrf++,ter)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"bleu", "chrf", "chrf++", "ter"}))
      ->type_name("LIST")
      ->group(group);
}

void declare_bootstrap(CLI::App& app, EvaluationOptions& options) {
  app.add_flag("--confidence", options.confidence,
               "Print the mean and the 95% interval of bootstrap resampling beside each score")
      ->group(group);
  app.add_option("--bootstrap-samples", options.bootstrap.samples,
                 "Of --confidence and --compare-with: samples to draw (default 1000)")
      ->check(CLI::Range(2, 1000000))
      ->type_name("N")
      ->group(group);
  app.add_option("--bootstrap-seed", options.bootstrap.seed,
                 "Of --confidence and --compare-with: seed (default 12345)")
      ->type_name("N")
      ->group(group);
}

void declare_bleu(CLI::App& app, EvaluationOptions& options) {
  app.add_option("--bleu-tokenizer", options.bleu_tokenizer,
                 "How BLEU splits text: 13a (default), intl, char, zh or none")
      ->check(CLI::IsMember(names_of(tokenizers)))
      ->type_name("NAME")
      ->group(group);
  app.add_option("--bleu-smoothing", options.bleu_smoothing,
                 "What BLEU does without a match of an order: exp (default), floor, add-k or none")
      ->check(CLI::IsMember(names_of(smoothings)))
      ->type_name("NAME")
      ->group(group);
  app.add_option("--bleu-smoothing-value", options.bleu.smoothing_value,
                 "Of --bleu-smoothing floor (default 0.1) and add-k (default 1)")
      ->type_name("X")
      ->group(group);
  app.add_flag("--bleu-lowercase", options.bleu.lowercase, "BLEU ignores case")->group(group);
}

void declare_others(CLI::App& app, EvaluationOptions& options) {
  app.add_flag("--chrf-lowercase", options.chrf.lowercase, "chrF and chrF++ ignore case")->group(group);
  app.add_flag("--ter-normalized", options.ter.normalized, "TER separates punctuation from words")
      ->group(group);
  app.add_flag("--ter-no-punctuation", options.ter.no_punctuation, "TER ignores punctuation")->group(group);
  app.add_flag("--ter-asian-support", options.ter.asian_support,
               "With the two options before: also Chinese and Japanese characters and punctuation")
      ->group(group);
  app.add_flag("--ter-case-sensitive", options.ter.case_sensitive, "TER minds case")->group(group);
}

}  // namespace

void declare(CLI::App& app, EvaluationOptions& options) {
  declare_files(app, options);
  declare_bootstrap(app, options);
  declare_bleu(app, options);
  declare_others(app, options);
}

void check(const EvaluationOptions& options, const std::string& input) {
  if (!options.hypotheses.empty() && options.references.empty()) {
    fail(ExitCode::usage, "--evaluate needs something to compare with; name it by --reference FILE");
  }
  if (options.references.empty() && options.resamples()) {
    fail(ExitCode::usage, "--confidence and --compare-with need --reference FILE");
  }
  std::vector<std::string> files = options.references;
  files.insert(files.end(), {options.hypotheses, options.compare_with, input});
  if (std::count(files.begin(), files.end(), "-") > 1) {
    fail(ExitCode::usage, "only one of the texts can be standard input; give the others as files");
  }
  metrics_of(options);
}

std::vector<std::unique_ptr<const Metric>> metrics_of(const EvaluationOptions& options) {
  BleuOptions bleu = options.bleu;
  bleu.tokenizer = named(options.bleu_tokenizer, tokenizers);
  bleu.smoothing = named(options.bleu_smoothing, smoothings);
  ChrfOptions with_words = options.chrf;
  with_words.word_order = 2;
  std::vector<std::unique_ptr<const Metric>> metrics;
  for (const std::string& name : options.metrics) {
    if (name == "bleu") metrics.push_back(bleu_metric(bleu));
    if (name == "chrf") metrics.push_back(chrf_metric(options.chrf));
    if (name == "chrf++") metrics.push_back(chrf_metric(with_words));
    if (name == "ter") metrics.push_back(ter_metric(options.ter));
  }
  return metrics;
}

}  // namespace attn::translate
