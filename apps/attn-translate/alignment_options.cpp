#include "alignment_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "attn/core/error.h"

namespace attn::translate {
namespace {

constexpr const char* group = "Alignments";

// What comes without a value, and a MODEL that was taken for one.
std::string check_kind(std::string& value) {
  if (value.empty() || value == "true") value = "hard";
  if (value == "hard" || value == "soft" || value == "threshold") return {};
  return fmt::format(
      "'{}' is no kind of alignments; choose hard, soft or threshold (and put MODEL before a bare "
      "--alignments)",
      value);
}

void declare_extraction(CLI::App& app, AlignmentCommand& command) {
  app.add_option(
         "--alignments", command.kind,
         "Append ' ||| i-j ...' to each translation: target j, counted from 0, attends most to source "
         "i. hard (default): one link a target; threshold: all pairs with enough weight; soft: "
         "i-j:weight of all pairs above 0.01")
      ->expected(0, 1)
      ->default_str("hard")  // of a bare --alignments; an empty value would pass the check unseen
      ->transform(CLI::Validator(check_kind, "", "kind"))
      ->type_name("KIND")
      ->group(group);
  app.add_option("--alignments-output", command.output,
                 "Write the links to FILE, line for line with the output, instead of behind the translations")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--alignment-unit", command.unit,
                 "What is aligned: tokens as the model has them (token, default), or what lies between white "
                 "space in the texts (word)")
      ->check(CLI::IsMember({"token", "word"}))
      ->type_name("UNIT")
      ->group(group);
  app.add_option("--alignment-threshold", command.threshold,
                 "Of --alignments threshold: least weight of a link, 0 to 1 (default 0.2)")
      ->type_name("P")
      ->group(group);
  app.add_option("--alignment-layer", command.layer,
                 "Decoder layer whose attention is taken, counted from 0 (default: mean of all)")
      ->type_name("L")
      ->group(group);
  app.add_option("--alignment-head", command.head,
                 "Head whose attention is taken, counted from 0 (default: mean of all)")
      ->type_name("H")
      ->group(group);
  app.add_flag("--alignment-shift", command.shifted,
               "Take the attention of the step after a token, which has read it, instead of the step that "
               "predicts it")
      ->group(group);
}

void declare_evaluation(CLI::App& app, AlignmentCommand& command) {
  app.add_option("--evaluate-alignments", command.files.hypothesis,
                 "Translate nothing and take no MODEL: print the alignment error rate of the links in FILE")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--alignment-reference", command.files.reference,
                 "Of --evaluate-alignments: the right links, i-j for sure ones, ipj or i?j for possible ones")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--alignment-reference-first", command.files.reference_first,
                 "Of --evaluate-alignments: number of the first word in the reference, 0 (default) or 1")
      ->check(CLI::Range(0, 1))
      ->type_name("N")
      ->group(group);
  app.add_option("--alignment-source", command.files.source,
                 "Of --evaluate-alignments: the source text, whose words the links must name")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--alignment-target", command.files.target,
                 "Of --evaluate-alignments: the target text, whose words the links must name")
      ->type_name("FILE")
      ->group(group);
}

}  // namespace

void declare(CLI::App& app, AlignmentCommand& command) {
  declare_extraction(app, command);
  declare_evaluation(app, command);
}

void check(const AlignmentCommand& command) {
  const AlignmentFiles& files = command.files;
  if (command.evaluates() != !files.reference.empty())
    fail(ExitCode::usage, "--evaluate-alignments FILE and --alignment-reference FILE need each other");
  if (!command.evaluates() && !(files.source.empty() && files.target.empty())) {
    fail(ExitCode::usage, "--alignment-source and --alignment-target belong to --evaluate-alignments");
  }
  const std::string* const names[] = {&files.hypothesis, &files.reference, &files.source, &files.target};
  if (std::count_if(std::begin(names), std::end(names), [](const auto* name) { return *name == "-"; }) > 1)
    fail(ExitCode::usage, "only one of the files can be standard input; give the others as files");
  if (command.threshold && command.kind != "threshold")
    fail(ExitCode::usage, "--alignment-threshold belongs to --alignments threshold");
  if (command.output == "-") {
    fail(ExitCode::usage,
         "--alignments-output is a file; without it links stand behind the translations on standard output");
  }
  const bool chooses = command.layer || command.head || command.shifted || !command.unit.empty();
  if (chooses && !command.wanted()) {
    fail(ExitCode::usage,
         "--alignment-layer, --alignment-head, --alignment-unit and --alignment-shift need --alignments");
  }
}

std::optional<AlignmentOptions> alignment_options(const AlignmentCommand& command) {
  if (!command.wanted()) return std::nullopt;
  AlignmentOptions options;
  if (command.kind == "soft") options.kind = AlignmentKind::soft;
  if (command.kind == "threshold") options.kind = AlignmentKind::threshold;
  if (command.unit == "word") options.unit = AlignmentUnit::word;
  if (command.threshold) options.threshold = *command.threshold;
  options.layer = command.layer;
  options.head = command.head;
  options.shifted = command.shifted;
  return options;
}

std::string alignment_report(const AlignmentFiles& files, bool json) {
  const AlignmentEvaluation evaluation = evaluate_alignments(files);
  const AlignmentCounts& counts = evaluation.counts;
  if (!json) {
    return fmt::format(
        "AER = {:.2f} (precision = {:.2f} recall = {:.2f} sentences = {} links = {} sure = {} possible = "
        "{})\n",
        100.0 * counts.error_rate(), 100.0 * counts.precision(), 100.0 * counts.recall(),
        evaluation.sentences, counts.links, counts.sure, counts.possible);
  }
  nlohmann::ordered_json object;
  object["hypothesis"] = files.hypothesis;
  object["reference"] = files.reference;
  object["sentences"] = evaluation.sentences;
  object["alignment_error_rate"] = counts.error_rate();
  object["precision"] = counts.precision();
  object["recall"] = counts.recall();
  object["links"] = counts.links;
  object["sure"] = counts.sure;
  object["possible"] = counts.possible;
  object["links_in_sure"] = counts.links_in_sure;
  object["links_in_possible"] = counts.links_in_possible;
  return object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace attn::translate
