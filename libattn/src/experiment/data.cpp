#include "attn/experiment/data.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "attn/core/error.h"
#include "attn/core/sha256.h"
#include "attn/io/atomic_file.h"
#include "corpus_lint.h"
#include "pair_cache.h"
#include "pair_passes.h"
#include "subwords.h"

namespace attn {
namespace {

std::optional<std::size_t> unless_zero(std::int64_t value) {
  return value > 0 ? std::optional<std::size_t>(static_cast<std::size_t>(value)) : std::nullopt;
}

// Over ids and line breaks, so that it changes exactly when training would.
std::string digest(const EncodedCorpus& corpus) {
  Sha256 hash;
  std::string bytes;
  for (const auto side : {&EncodedPair::source, &EncodedPair::target}) {
    for (std::size_t i = 0; i < corpus.size(); ++i) {
      bytes.clear();
      const EncodedPair pair = corpus.pair(i);
      for (const std::int32_t id : pair.*side) fmt::format_to(std::back_inserter(bytes), "{} ", id);
      hash.update(bytes += '\n');
    }
  }
  return hash.hex_digest();
}

void build_vocabularies(const DataConfig& config, const PairPasses& pairs, TextProcessing& text) {
  const auto model_of = [](const Tokenizer& tokenizer) { return tokenizer.model().has_value(); };
  TokenCounts source, target;
  if (!model_of(text.source_tokenizer) || !model_of(text.target_tokenizer)) {
    pairs.each([&](const SentencePair& pair) {
      source.add(text.source_tokenizer.tokenize(pair.source));
      target.add(text.target_tokenizer.tokenize(pair.target));
    });
  }
  const auto vocabulary_of = [&](const Tokenizer& tokenizer, const TokenCounts& counts) {
    if (tokenizer.model()) return tokenizer.model()->vocabulary();
    return Vocabulary::build(counts, static_cast<std::size_t>(config.min_frequency),
                             unless_zero(config.max_vocabulary));
  };
  if (config.shared_vocabulary) {
    source.add(target);
    text.source_vocabulary = text.target_vocabulary = vocabulary_of(text.source_tokenizer, source);
    return;
  }
  text.source_vocabulary = vocabulary_of(text.source_tokenizer, source);
  text.target_vocabulary = vocabulary_of(text.target_tokenizer, target);
}

/// Makes the data of an experiment.
class Preparation {
 public:
  Preparation(const DataConfig& config, std::uint64_t seed, std::int64_t position_limit)
      : config_(config), seed_(seed), position_limit_(position_limit) {
    if (config.lint != DataConfig::Lint::off) training_lint_.emplace("training", config);
    if (config.streaming) cache_.emplace(config, seed);
  }

  PreparedData run() {
    if (!use_cache()) encode_training();
    require_known(data_.train, true);
    require_positions(data_.train);
    data_.valid = held_out("validation", config_.valid);
    data_.test = held_out("test", config_.test);
    require_positions(data_.valid);
    if (cache_ && !from_cache_) save();
    stop_if_serious();
    return std::move(data_);
  }

 private:
  EncodingOptions options() const { return {data_.text.steps, data_.text.max_length}; }
  bool use_cache();
  void encode_training();
  void encode(PairPasses& pairs, CorpusLint* lint, bool training, PreparedCorpus& prepared);
  PreparedCorpus held_out(const char* data, const CorpusFiles& files);
  void add_overlap(const char* data, const CorpusLint& lint);
  void save() const;
  void require_known(const PreparedCorpus& prepared, bool target) const;
  void require_positions(const PreparedCorpus& prepared) const;
  void stop_if_serious() const;

  const DataConfig& config_;
  std::uint64_t seed_;
  std::int64_t position_limit_;
  PreparedData data_;
  std::optional<CorpusLint> training_lint_;
  std::optional<PairCache> cache_;
  bool from_cache_ = false;
  LintReport kept_;  // what the cache holds, or will hold: findings about training pairs and overlaps
};

bool Preparation::use_cache() {
  auto facts = cache_ ? cache_->load() : std::nullopt;
  if (!facts) return false;
  from_cache_ = true;
  data_.text = std::move(facts->text);
  data_.text.steps = unless_zero(config_.steps);
  data_.text.max_length = unless_zero(config_.max_length);
  data_.train.corpus.name = std::move(facts->name);
  data_.train.encoded =
      EncodedCorpus(cache_->open(), options(), std::move(facts->source), std::move(facts->target));
  data_.sha256 = std::move(facts->sha256);
  kept_ = std::move(facts->lint);
  data_.lint.corpora = kept_.corpora;
  for (const LintFinding& finding : kept_.findings) {
    if (finding.data == "training") data_.lint.findings.push_back(finding);
  }
  return true;
}

void Preparation::encode_training() {
  CorpusLint* lint = training_lint_ ? &*training_lint_ : nullptr;
  set_tokenizers(config_, data_.text);
  data_.text.steps = unless_zero(config_.steps);
  data_.text.max_length = unless_zero(config_.max_length);
  PairPasses pairs(config_.train, config_, config_.limit, !config_.streaming, lint);
  train_tokenizers(config_, pairs, seed_, data_.text);
  build_vocabularies(config_, pairs, data_.text);
  encode(pairs, lint, true, data_.train);
  data_.sha256 = digest(data_.train.encoded);
  if (lint == nullptr) return;
  lint->report(data_.train.encoded.source(), data_.train.encoded.target(), data_.lint);
  kept_ = data_.lint;
}

/// Which training pairs are left out as too long.
class LongPairs {
 public:
  explicit LongPairs(std::optional<std::size_t> max_length) : max_length_(max_length) {}

  bool leaves_out(std::size_t source_tokens, std::size_t target_tokens, std::size_t line) {
    if (!max_length_) return false;
    const std::size_t length = std::max(source_tokens, target_tokens) + 1;  // and eos
    if (length <= *max_length_) return false;
    lines_.push_back(line);
    if (shortest_ == 0 || length < shortest_) {
      shortest_ = length;
      shortest_line_ = line;
    }
    return true;
  }

  void remove_from(Corpus& corpus) const {
    std::erase_if(corpus.pairs, [&](const SentencePair& pair) {
      return std::binary_search(lines_.begin(), lines_.end(), pair.line);
    });
  }

  // Nothing is left to train on.
  [[noreturn]] void fail_all(const std::string& name) const {
    fail(ExitCode::input_data,
         "all {} pairs of {} are longer than data.max_length {}: the shortest, line {}, has {} tokens, <eos> "
         "counted; raise data.max_length to {} or more, or set data.long_lines: crop",
         lines_.size(), name, *max_length_, shortest_line_, shortest_, shortest_);
  }

 private:
  std::optional<std::size_t> max_length_;
  std::vector<std::size_t> lines_;
  std::size_t shortest_ = 0, shortest_line_ = 0;
};

void Preparation::encode(PairPasses& pairs, CorpusLint* lint, bool training, PreparedCorpus& prepared) {
  const bool skip = training && config_.long_lines == DataConfig::LongLines::skip;
  LongPairs too_long(skip ? data_.text.max_length : std::nullopt);
  std::optional<EncodedFileWriter> file;
  if (training && cache_) file.emplace(cache_->ids_file());
  if (file) file->reserve(pairs.size());
  if (lint != nullptr) lint->expect(pairs.size());
  prepared.encoded = EncodedCorpus(options());
  EncodedSide source_side, target_side;
  std::size_t kept = 0;
  pairs.each([&](const SentencePair& pair) {
    const auto source = data_.text.source_tokenizer.tokenize(pair.source);
    const auto target = data_.text.target_tokenizer.tokenize(pair.target);
    auto source_ids = data_.text.source_vocabulary.encode(source);
    auto target_ids = data_.text.target_vocabulary.encode(target);
    if (too_long.leaves_out(source.size(), target.size(), pair.line)) {
      if (lint != nullptr) lint->skipped(pair.line);
      return;
    }
    ++kept;
    if (lint != nullptr) lint->tokenised(pair, source, target, source_ids, target_ids);
    if (!file) {
      prepared.encoded.add(std::move(source_ids), std::move(target_ids), pair.line);
      return;
    }
    finish_row(source_ids, pair.line, options(), source_side);
    finish_row(target_ids, pair.line, options(), target_side);
    file->add(source_ids, target_ids, pair.line);
  });
  if (kept == 0) too_long.fail_all(pairs.name());
  prepared.corpus = pairs.take();
  too_long.remove_from(prepared.corpus);
  if (!file) return;
  file->commit();
  file.reset();  // with its lengths, which come again
  prepared.encoded = EncodedCorpus(cache_->open(), options(), std::move(source_side), std::move(target_side));
}

PreparedCorpus Preparation::held_out(const char* data, const CorpusFiles& files) {
  PreparedCorpus prepared;
  if (!files.given()) return prepared;
  std::optional<CorpusLint> lint;
  if (config_.lint != DataConfig::Lint::off) lint.emplace(data, config_);
  PairPasses pairs(files, config_, 0, true, lint ? &*lint : nullptr);
  encode(pairs, lint ? &*lint : nullptr, false, prepared);
  require_known(prepared, false);
  if (!lint) return prepared;
  lint->report(prepared.encoded.source(), prepared.encoded.target(), data_.lint);
  add_overlap(data, *lint);
  return prepared;
}

void Preparation::add_overlap(const char* data, const CorpusLint& lint) {
  LintReport found;
  if (from_cache_) {
    for (const LintFinding& finding : kept_.findings) {
      if (finding.data == data) found.findings.push_back(finding);
    }
  } else {
    lint.report_overlap(*training_lint_, found);
    kept_.findings.insert(kept_.findings.end(), found.findings.begin(), found.findings.end());
  }
  data_.lint.findings.insert(data_.lint.findings.end(), found.findings.begin(), found.findings.end());
}

void Preparation::save() const {
  const auto ids = cache_->open();
  cache_->save({data_.train.corpus.name, data_.sha256, data_.train.encoded.source(),
                data_.train.encoded.target(), data_.text, kept_},
               *ids);
}

void Preparation::require_known(const PreparedCorpus& prepared, bool target) const {
  const auto require = [&](const char* name, const Vocabulary& vocabulary, const EncodedSide& side) {
    require_coverage(vocabulary, Coverage{side.tokens, side.unknown},
                     fmt::format("the {} side of {}", name, prepared.corpus.name),
                     static_cast<std::size_t>(config_.min_frequency));
  };
  require("source", data_.text.source_vocabulary, prepared.encoded.source());
  if (target) require("target", data_.text.target_vocabulary, prepared.encoded.target());
}

// Before the first step, and not in the middle of an epoch, when a sentence beyond the table turns up.
void Preparation::require_positions(const PreparedCorpus& prepared) const {
  if (position_limit_ == 0) return;
  const auto limit = static_cast<std::size_t>(position_limit_);
  for (std::size_t i = 0; i < prepared.encoded.size(); ++i) {
    const PairLength& length = prepared.encoded.length(i);
    const std::size_t longest =
        std::max<std::size_t>(std::max(length.source, length.target), data_.text.steps.value_or(0));
    if (longest <= limit) continue;
    fail(ExitCode::input_data,
         "line {} of {} has {} tokens, <eos> counted, but the table of learned positions has {} rows; raise "
         "model.max_length to {} or more, or crop with data.max_length: {}",
         prepared.encoded.line(i), prepared.corpus.name, longest, limit, longest, limit);
  }
}

void Preparation::stop_if_serious() const {
  if (config_.lint != DataConfig::Lint::error || !data_.lint.has_serious()) return;
  fail(ExitCode::input_data,
       "the data has serious findings, at which data.lint: error stops; mend the data, or set data.lint: "
       "warn\n{}",
       lint_text(data_.lint));
}

}  // namespace

PreparedData prepare_data(const DataConfig& config, std::uint64_t seed, std::int64_t position_limit) {
  return Preparation(config, seed, position_limit).run();
}

PreparedData prepare_data(const ExperimentConfig& config) {
  DataConfig data = config.data;
  if (data.streaming && data.cache.empty()) data.cache = config.run_root / ".cache";
  const ModelConfig& model = config.model;
  const bool has_table =
      model.type == ModelConfig::Type::transformer && model.positions == PositionKind::learned;
  return prepare_data(data, config.seed, has_table ? model.max_length : 0);
}

std::vector<std::filesystem::path> write_vocabularies(const TextProcessing& text,
                                                      const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail(ExitCode::file, "cannot make the folder {}: {}", folder.string(), error.message());
  std::vector<std::filesystem::path> files;
  const auto write = [&](const std::string& name, const std::string& bytes) {
    files.push_back(folder / name);
    write_file_atomically(files.back(), bytes);
  };
  const auto write_side = [&](const std::string& side, const Vocabulary& vocabulary,
                              const Tokenizer& tokenizer) {
    std::string lines;
    for (const std::string& token : vocabulary.to_escaped_tokens()) lines += token + '\n';
    write(side + ".tokens", lines);
    if (tokenizer.model()) write(side + ".model", tokenizer.model()->bytes());
  };
  write_side("source", text.source_vocabulary, text.source_tokenizer);
  write_side("target", text.target_vocabulary, text.target_tokenizer);
  return files;
}

std::string normalised_target(const TextProcessing& text, const std::string& target) {
  if (text.target_tokenizer.model()) return target;
  return text.target_tokenizer.detokenize(text.target_tokenizer.tokenize(target));
}

}  // namespace attn
