#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "attn/cli/main.h"
#include "attn/cli/output.h"
#include "attn/core/error.h"
#include "attn/figures/heat_map.h"
#include "attn/io/atomic_file.h"
#include "commands.h"
#include "selection.h"

namespace attn::dump {
namespace {

struct Options {
  std::string archive, output;
  std::size_t sentence = 0;
  std::string kind, heads = "all", format;
  std::string layer;
};

using Block = AttentionArchive::Block;

/// The kind that is meant when none is named: what relates the two sentences, if it is there.
AttentionKind default_kind(const AttentionArchive& archive) {
  for (const AttentionKind kind : {AttentionKind::cross, AttentionKind::rnn_cross}) {
    if (archive.has(kind)) return kind;
  }
  if (archive.kinds().empty()) fail(ExitCode::input_data, "{} holds no attention", archive.file_name());
  return archive.kinds().front();
}

std::vector<double> head_mean(const Block& block, std::size_t layer) {
  std::vector<double> mean(block.queries * block.keys);
  for (std::size_t head = 0; head < block.heads; ++head) {
    const auto map = block.map(layer, head);
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += map[i];
  }
  for (double& value : mean) value /= static_cast<double>(block.heads);
  return mean;
}

std::vector<std::uint8_t> mask(const AttentionArchive::KindInfo& info, const Block& block) {
  std::vector<std::uint8_t> masked;
  for (std::size_t query = 0; query < block.queries; ++query) {
    for (std::size_t key = 0; key < block.keys; ++key) masked.push_back(info.masked(query, key) ? 1 : 0);
  }
  return masked;
}

std::vector<std::string> texts(const std::vector<AttentionArchive::Token>& tokens) {
  std::vector<std::string> labels;
  labels.reserve(tokens.size());
  for (const auto& token : tokens) labels.push_back(token.text);
  return labels;
}

std::vector<HeatMapPanel> panels(const AttentionArchive::KindInfo& info, const Block& block,
                                 std::size_t layer, const Options& options) {
  const std::vector<std::uint8_t> masked = mask(info, block);
  if (options.heads == "mean") {
    return {{fmt::format("mean of {} heads", block.heads), head_mean(block, layer), masked}};
  }
  std::vector<HeatMapPanel> all;
  const std::string wanted = options.heads == "all" ? "" : options.heads;
  for (const std::size_t head : chosen_places(wanted, "--head", "head", info.heads)) {
    const auto map = block.map(layer, head);
    all.push_back({fmt::format("head {}", info.heads[head]), {map.begin(), map.end()}, masked});
  }
  return all;
}

HeatMap heat_map(const AttentionArchive& archive, const Options& options) {
  const AttentionKind kind =
      options.kind.empty() ? default_kind(archive) : chosen_kind(archive, options.kind);
  const AttentionArchive::KindInfo& info = archive.info(kind);
  if (options.sentence >= archive.sentences()) {
    fail(ExitCode::usage, "--sentence: {} has {} sentences, counted from 0; there is no {}",
         archive.file_name(), archive.sentences(), options.sentence);
  }
  const auto layers =
      chosen_places(options.layer.empty() ? fmt::format("{}", info.layers.front()) : options.layer, "--layer",
                    "layer", info.layers);
  if (layers.size() != 1) fail(ExitCode::usage, "--layer takes one layer, not '{}'", options.layer);
  const Block block = archive.block(kind, options.sentence);
  if (block.weights.empty()) {
    fail(ExitCode::input_data, "{}: sentence {} (line {}) has no tokens, so there is nothing to draw",
         archive.file_name(), options.sentence, archive.sentence(options.sentence).line);
  }
  const AxisTitles axes = axis_titles(info);
  HeatMap map;
  map.title =
      fmt::format("{}, layer {}, sentence {}", title_of(kind), info.layers[layers.front()], options.sentence);
  map.rows = {block.queries, axes.query, texts(archive.query_tokens(kind, options.sentence))};
  map.columns = {block.keys, axes.key, texts(archive.key_tokens(kind, options.sentence))};
  map.panels = panels(info, block, layers.front(), options);
  map.colour_title = "attention weight";
  return map;
}

int plot(const Options& options, const Session& session) {
  const bool to_standard_output = options.output == "-";
  if (options.format.empty() && to_standard_output) {
    fail(ExitCode::usage, "--output - needs --format: one of {}", fmt::join(picture_format_names(), ", "));
  }
  const PictureFormat format = options.format.empty()
                                   ? picture_format_of_file(options.output.empty() ? ".svg" : options.output)
                                   : picture_format(options.format);
  const AttentionArchive archive = AttentionArchive::open(options.archive);
  const std::string picture = render(heat_map(archive, options), format);
  if (to_standard_output) {
    cli::StandardOutput output;
    output.write(picture);
    output.finish();
    return static_cast<int>(ExitCode::ok);
  }
  const std::string output = options.output.empty() ? "attention." + to_string(format) : options.output;
  write_file_atomically(output, picture);
  session.messages.info("wrote {}", output);
  return static_cast<int>(ExitCode::ok);
}

}  // namespace

Command add_plot(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* parser = app.add_subcommand("plot", "Draw the attention of one sentence as heat-maps");
  cli::set_examples(
      *parser, {{"attn-dump plot attention.h5 --sentence 3 --kind cross --layer 1 --output cross.svg",
                 "a heat-map for each head"},
                {"attn-dump plot attention.h5 --sentence 3 --head mean --output mean.png", "their mean"},
                {"attn-dump plot attention.h5 --sentence 3 --head 0,2 --format pdf --output - > heads.pdf",
                 "two heads, to standard output"}});
  parser->footer(
      "Sentences, layers and heads are counted from 0. Rows are what attends (the target), columns what is "
      "attended\nto (the source); colours run from 0 to 1; cells that are masked are hatched.");
  parser->add_option("ARCHIVE", options->archive, "An attention archive of attn-dump attention")->required();
  parser->add_option("--sentence", options->sentence, "Which sentence (default 0)")->type_name("N");
  parser
      ->add_option("--kind", options->kind,
                   "encoder_self, decoder_self, cross or rnn_cross (default: cross or rnn_cross)")
      ->type_name("NAME");
  parser->add_option("--layer", options->layer, "Which layer (default: the first that is there)")
      ->type_name("N");
  parser->add_option("--head", options->heads, "all (default), mean, or a list as 0,2-3")->type_name("HEADS");
  parser
      ->add_option("--format", options->format,
                   "svg, png or pdf (default: as the output's name says, else svg)")
      ->type_name("FORMAT");
  parser
      ->add_option("-o,--output", options->output,
                   "The picture; - is standard output (default: attention.svg, or as --format says)")
      ->type_name("FILE");
  return {parser, [options](const Session& session) { return plot(*options, session); }};
}

}  // namespace attn::dump
