#include "data_keys.h"

namespace attn {

void describe_data_checks(config::Schema& schema, DataConfig& d) {
  using Lint = DataConfig::Lint;
  using LongLines = DataConfig::LongLines;
  schema.field("data.long_lines", d.long_lines,
               config::Choice<LongLines>{{{"crop", LongLines::crop}, {"skip", LongLines::skip}}},
               "Training pairs longer than data.max_length: crop them, or leave them out");
  schema.field("data.lint", d.lint,
               config::Choice<Lint>{{{"warn", Lint::warn}, {"off", Lint::off}, {"error", Lint::error}}},
               "Report what is odd about the data before training; error: stop if it is serious");
  schema.field("data.lint_ratio", d.lint_ratio, config::Real{.minimum = 1},
               "Report pairs with one side so many times longer, in tokens and with 5 to spare");
  schema.field("data.streaming", d.streaming, config::Boolean{},
               "Keep training pairs encoded on disk, for corpora larger than memory");
  schema.field("data.cache", d.cache, config::Path{},
               "Folder of the encoded pairs with data.streaming; none: .cache in run_root");
}

void check_data(config::Schema& schema, const ExperimentConfig& config) {
  const DataConfig& data = config.data;
  if (data.long_lines == DataConfig::LongLines::skip && data.max_length == 0)
    schema.problem("data.long_lines", "skip needs data.max_length");
  if (!data.streaming) {
    if (!data.cache.empty()) schema.problem("data.cache", "needs data.streaming: true");
    return;
  }
  const CorpusFiles& train = data.train;
  if (train.pairs == "-" || train.source == "-" || train.target == "-")
    schema.problem("data.streaming", "reads files several times, so they cannot be standard input");
  if (config.report.training_bleu)
    schema.problem("report.training_bleu", "needs the text of the training pairs, so data.streaming: false");
}

}  // namespace attn
