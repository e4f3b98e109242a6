#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "attn/cli/main.h"
#include "attn/cli/progress.h"
#include "attn/cli/signals.h"
#include "attn/core/error.h"
#include "attn/io/atomic_file.h"
#include "commands.h"
#include "selection.h"
#include "viewer_page.h"

namespace attn::dump {
namespace {

struct Options {
  std::string archive, output;
  std::string sentences, layers, heads;
  std::vector<std::string> kinds;
  double largest_megabytes = 50;
};

struct Interrupted {};

constexpr double bytes_a_megabyte = 1e6;

ViewerSelection select(const AttentionArchive& archive, const Options& options) {
  ViewerSelection selection;
  if (options.sentences.empty()) {
    for (std::size_t i = 0; i < archive.sentences(); ++i) selection.sentences.push_back(i);
  } else {
    selection.sentences = number_list(options.sentences, "--sentences", "sentence", archive.sentences());
  }
  std::vector<AttentionKind> kinds;
  for (const std::string& name : options.kinds) kinds.push_back(chosen_kind(archive, name));
  if (kinds.empty()) kinds = archive.kinds();
  for (const AttentionKind kind : archive.kinds()) {
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) continue;
    const AttentionArchive::KindInfo& info = archive.info(kind);
    selection.kinds.push_back({kind, chosen_places(options.layers, "--layers", "layer", info.layers),
                               chosen_places(options.heads, "--heads", "head", info.heads)});
  }
  if (selection.sentences.empty()) {
    fail(ExitCode::input_data, "{} has no sentences, so there is nothing to show", archive.file_name());
  }
  return selection;
}

void check_size(std::uint64_t bytes, const AttentionArchive& archive, const Options& options) {
  const double megabytes = static_cast<double>(bytes) / bytes_a_megabyte;
  if (megabytes <= options.largest_megabytes) return;
  fail(ExitCode::usage,
       "the page would have about {:.1f} MB, and --max-html-mb allows {:g}: choose less of the {} sentences "
       "with --sentences, --kinds, --layers or --heads, or raise --max-html-mb",
       megabytes, options.largest_megabytes, archive.sentences());
}

std::string default_output(const std::string& archive) {
  return std::filesystem::path(archive).replace_extension(".html").string();
}

int write_html(const Options& options, const Session& session) {
  const AttentionArchive archive = AttentionArchive::open(options.archive);
  const ViewerSelection selection = select(archive, options);
  check_size(estimated_page_bytes(archive, selection), archive, options);
  const std::string output = options.output.empty() ? default_output(options.archive) : options.output;
  AtomicFile file(output);
  cli::Progress progress(session.messages, "writing", selection.sentences.size(), "sentences");
  std::size_t done = 0;
  std::uint64_t bytes = 0;
  try {
    write_viewer_page(
        archive, selection,
        [&](std::string_view piece) {
          bytes += piece.size();
          file.write(piece);
        },
        [&] {
          if (cli::interrupted()) throw Interrupted();
          progress.update(++done);
        });
  } catch (const Interrupted&) {
    progress.clear();
    session.messages.info("interrupted; {} was not written", output);
    return static_cast<int>(ExitCode::interrupted);
  }
  check_size(bytes, archive, options);
  file.commit();
  progress.finish();
  session.messages.info("wrote {} ({:.1f} MB, {} sentences): open it in a browser", output,
                        static_cast<double>(bytes) / bytes_a_megabyte, selection.sentences.size());
  return static_cast<int>(ExitCode::ok);
}

}  // namespace

Command add_html(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* parser = app.add_subcommand("html", "Make a page that shows an attention archive in a browser");
  cli::set_examples(*parser, {{"attn-dump html attention.h5",
                               "writes attention.html, which needs neither network nor server"},
                              {"attn-dump html attention.h5 --sentences 0-99 --kinds cross",
                               "a smaller page: the first 100 sentences, one kind"}});
  parser->footer(
      "Sentences, layers and heads are counted from 0; lists are like 0-3,7. docs/pictures.md explains the "
      "page.");
  parser->add_option("ARCHIVE", options->archive, "An attention archive of attn-dump attention")->required();
  parser->add_option("-o,--output", options->output, "The page (default: ARCHIVE with the extension .html)")
      ->type_name("FILE");
  parser->add_option("--sentences", options->sentences, "Which sentences (default: all)")->type_name("LIST");
  parser
      ->add_option(
          "--kinds", options->kinds,
          "Which kinds of encoder_self, decoder_self, cross, rnn_cross (default: all that are there)")
      ->delimiter(',')
      ->type_name("NAMES");
  parser->add_option("--layers", options->layers, "Which layers (default: all)")->type_name("LIST");
  parser->add_option("--heads", options->heads, "Which heads (default: all)")->type_name("LIST");
  parser
      ->add_option("--max-html-mb", options->largest_megabytes,
                   "Refuse to write a page of more megabytes (default 50), which browsers open slowly")
      ->check(CLI::PositiveNumber)
      ->type_name("MB");
  return {parser, [options](const Session& session) { return write_html(*options, session); }};
}

}  // namespace attn::dump
