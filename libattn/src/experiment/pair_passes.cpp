#include "pair_passes.h"

#include <utility>

#include "attn/core/error.h"

namespace attn {

PairPasses::PairPasses(CorpusFiles files, const DataConfig& config, std::int64_t limit, bool keep,
                       CorpusLint* lint)
    : files_(std::move(files)), kept_(keep) {
  options_.source_column = static_cast<std::size_t>(config.source_column);
  options_.target_column = static_cast<std::size_t>(config.target_column);
  options_.allow_extra_columns = config.allow_extra_columns;
  if (limit > 0) options_.limit = static_cast<std::size_t>(limit);
  PairReader reader = open();
  while (auto pair = reader.next()) {
    ++size_;
    if (lint != nullptr) lint->read(*pair, reader.last_was_repaired());
    if (keep) corpus_.pairs.push_back(std::move(*pair));
  }
  if (lint != nullptr) lint->finished_reading(reader);
  corpus_.name = reader.name();
  corpus_.blank_lines = reader.blank_lines();
  corpus_.one_sided_lines = reader.one_sided_lines();
  corpus_.reports = reader.reports();
}

PairReader PairPasses::open() const {
  if (!files_.pairs.empty()) return PairReader(files_.pairs, options_);
  if (files_.source == "-" && files_.target == "-")
    fail(ExitCode::usage, "source and target cannot both be read from standard input");
  return {files_.source, files_.target, options_.limit};
}

void PairPasses::each(const std::function<void(const SentencePair&)>& visit) const {
  if (kept_) {
    for (const SentencePair& pair : corpus_.pairs) visit(pair);
    return;
  }
  PairReader reader = open();
  std::size_t count = 0;
  while (const auto pair = reader.next()) {
    if (++count <= size_) visit(*pair);
  }
  if (count != size_) {
    fail(ExitCode::input_data,
         "{} had {} pairs when it was read first and {} now; start again when it is complete", reader.name(),
         size_, count);
  }
}

}  // namespace attn
