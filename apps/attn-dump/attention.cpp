#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attn/cli/main.h"
#include "attn/cli/progress.h"
#include "attn/cli/signals.h"
#include "attn/core/error.h"
#include "attn/inspection/attention_dump.h"
#include "attn/text/lines.h"
#include "commands.h"
#include "model_options.h"

namespace attn::dump {
namespace {

struct Options {
  ModelOptions model;
  std::string input = "-", target, reference, output;
  std::vector<std::string> kinds;
  std::vector<std::int32_t> layers, heads;
  std::string precision = "f32";
  SearchOptions search;
  std::size_t batch_tokens = AttentionDumpOptions{}.batch_tokens;
};

struct Interrupted {};

// The lines of the input with those of the texts beside it.
class Corpus {
 public:
  explicit Corpus(const Options& options) : source_(options.input) {
    if (!options.target.empty()) target_.emplace(options.target);
    if (!options.reference.empty()) reference_.emplace(options.reference);
  }

  std::optional<AttentionDump::Line> next() {
    auto source = source_.next();
    const auto target = beside(target_, source.has_value());
    const auto reference = beside(reference_, source.has_value());
    if (!source) return std::nullopt;
    return AttentionDump::Line{std::move(*source), target.value_or(""), reference.value_or("")};
  }

  std::vector<const TextReport*> reports() const {
    std::vector<const TextReport*> reports{&source_.report()};
    if (target_) reports.push_back(&target_->report());
    if (reference_) reports.push_back(&reference_->report());
    return reports;
  }
  const std::string& source_name() const { return source_.report().name; }
  std::string target_name() const { return target_ ? target_->report().name : "target"; }

 private:
  std::optional<std::string> beside(std::optional<LineReader>& reader, bool expected) {
    if (!reader) return std::nullopt;
    auto line = reader->next();
    if (line.has_value() == expected) return line;
    for (LineReader* rest : {&source_, &*reader}) {  // count them to their ends
      while (rest->next()) {
      }
    }
    fail(ExitCode::input_data,
         "{} has {} lines and {} has {}; line i of one must belong to line i of the other", source_name(),
         source_.line_number(), reader->report().name, reader->line_number());
  }

  LineReader source_;
  std::optional<LineReader> target_, reference_;
};

void check(const Options& options, bool beam_given) {
  int standard_inputs = 0;
  for (const std::string& name : {options.input, options.target, options.reference})
    standard_inputs += name == "-" ? 1 : 0;
  if (standard_inputs > 1)
    fail(ExitCode::usage, "only one of --input, --target and --reference can be standard input");
  if (!options.target.empty() && beam_given)
    fail(ExitCode::usage, "--target gives the translations, so that nothing is searched; leave out --beam");
  for (const auto& [name, path] : {std::pair{"--input", &options.input},
                                   {"--target", &options.target},
                                   {"--reference", &options.reference}}) {
    std::error_code unknown;
    if (!path->empty() && std::filesystem::equivalent(*path, options.output, unknown))
      fail(ExitCode::usage, "--output is the file of {}, {}; choose another name", name, *path);
  }
}

AttentionSelection selection(const Options& options) {
  AttentionSelection selection{{}, options.layers, options.heads};
  for (const std::string& name : options.kinds) {
    const auto kind = attention_kind(name);
    if (!kind) {
      fail(ExitCode::usage,
           "there is no attention of kind '{}'; choose among encoder_self, decoder_self, cross and rnn_cross",
           name);
    }
    selection.kinds.push_back(*kind);
  }
  return selection;
}

int dump(const Options& options, const Session& session) {
  AttentionDumpOptions dump_options;
  dump_options.selection = selection(options);
  const TranslationSystem system = load(options.model);
  select_attention(*system.model, dump_options.selection);  // complains before a file is made
  Corpus corpus(options);
  cli::Progress progress(session.messages, "dumping", 0, "lines");
  const AttentionDump* current = nullptr;
  dump_options.search = options.search;
  dump_options.batch_tokens = options.batch_tokens;
  dump_options.half = options.precision == "f16";
  dump_options.forced = !options.target.empty();
  dump_options.references = !options.reference.empty();
  dump_options.source_name = corpus.source_name();
  dump_options.target_name = corpus.target_name();
  dump_options.warn = [&](const std::string& warning) {
    progress.clear();
    session.messages.warning("{}", warning);
  };
  dump_options.between_batches = [&] {
    progress.update(current != nullptr ? current->lines_written() : 0);
    if (cli::interrupted()) throw Interrupted();
  };
  std::size_t lines = 0, bad_lines = 0;
  hdf5::write_atomically(options.output, [&](hdf5::File& file) {
    AttentionDump attention(file, system, dump_options, session.command_line);
    current = &attention;
    while (auto line = corpus.next()) {
      if (cli::interrupted()) throw Interrupted();
      attention.add(std::move(*line));
    }
    attention.finish();
    lines = attention.lines_written();
    bad_lines = attention.bad_lines();
    current = nullptr;
  });
  progress.update(lines);
  progress.finish();
  for (const TextReport* report : corpus.reports()) {
    bad_lines += report->lines_with_replacements;
    if (const auto warning = report->warning()) session.messages.warning("{}", *warning);
  }
  session.messages.info("wrote {}: attention of {} lines, {:.1f} MB", options.output, lines,
                        static_cast<double>(std::filesystem::file_size(options.output)) * 1e-6);
  return static_cast<int>(bad_lines > 0 ? ExitCode::bad_lines : ExitCode::ok);
}

void declare(CLI::App& parser, Options& options) {
  declare(parser, options.model);
  parser.add_option("-i,--input", options.input, "Source text, also gzipped; - is standard input (default)")
      ->type_name("FILE");
  parser
      .add_option("--target", options.target,
                  "Follow these translations, line for line, instead of the model's own")
      ->type_name("FILE");
  parser.add_option("--reference", options.reference, "Store these lines beside the sentences")
      ->type_name("FILE");
  parser.add_option("-o,--output", options.output, "The archive, complete or not at all")
      ->required()
      ->type_name("FILE");
  parser
      .add_option("--kinds", options.kinds,
                  "Of encoder_self, decoder_self, cross, rnn_cross; joined by commas (default: all)")
      ->delimiter(',')
      ->type_name("KIND,...");
  parser.add_option("--layers", options.layers, "Layers, counted from 0 (default: all)")
      ->delimiter(',')
      ->type_name("N,...");
  parser.add_option("--heads", options.heads, "Heads, counted from 0 (default: all)")
      ->delimiter(',')
      ->type_name("N,...");
  parser.add_option("--precision", options.precision, "Of the stored weights: f32 (default) or f16")
      ->check(CLI::IsMember({"f32", "f16"}))
      ->type_name("TYPE");
  parser.add_option("-b,--beam", options.search.beam, "Hypotheses kept; 1 is greedy search (default 1)")
      ->check(CLI::Range(1, 10000))
      ->type_name("N");
  parser
      .add_option("--length-penalty", options.search.length_penalty,
                  "Exponent a in score = log-probability / ((5 + length) / 6)^a (default 0.6)")
      ->type_name("A");
  parser
      .add_option("--max-length", options.search.max_length,
                  "Most tokens of a translation, the end symbol counted (default as for attn-translate)")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  parser
      .add_option("--batch-tokens", options.batch_tokens,
                  "Most source positions a batch, times the beam (default 2048)")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
}

}  // namespace

Command add_attention(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* parser = app.add_subcommand("attention", "Write the attention of a corpus to HDF5");
  cli::set_examples(
      *parser,
      {{"attn-dump attention runs/quickstart --input input.txt --output attention.h5",
        "translate, and write every map of all layers and heads along the translations"},
       {"attn-dump attention runs/quickstart --input input.txt --target output.txt --output attention.h5",
        "the attention along given translations"},
       {"attn-dump attention runs/quickstart --kinds cross --layers 1 --precision f16 -i input.txt -o "
        "cross.h5",
        "one kind and layer, in half the size"}});
  parser->footer(
      "Weights are those after the softmax and before dropout; each row sums to 1. With a beam, the "
      "surviving\n"
      "hypothesis is run again to record them. The file appears when it is complete. "
      "docs/attention-archive.md "
      "shows how\nto read it from Python, MATLAB and Julia. Exit code 7: lines were cropped, skipped or not "
      "UTF-8; the file is there.");
  declare(*parser, *options);
  const CLI::Option* beam = parser->get_option("--beam");
  return {parser, [options, beam](const Session& session) {
            check(*options, beam->count() > 0);
            try {
              return dump(*options, session);
            } catch (const Interrupted&) {
              session.messages.info("interrupted; nothing was written to {}", options->output);
              return static_cast<int>(ExitCode::interrupted);
            }
          }};
}

}  // namespace attn::dump
