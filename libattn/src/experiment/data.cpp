#include "attn/experiment/data.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "attn/core/error.h"
#include "attn/core/sha256.h"
#include "attn/io/atomic_file.h"
#include "subwords.h"

namespace attn {
namespace {

using Sentences = std::vector<std::vector<std::string>>;

std::optional<std::size_t> unless_zero(std::int64_t value) {
  return value > 0 ? std::optional<std::size_t>(static_cast<std::size_t>(value)) : std::nullopt;
}

Corpus read(const CorpusFiles& files, const DataConfig& config, std::int64_t limit) {
  if (files.pairs.empty()) return read_parallel(files.source, files.target, unless_zero(limit));
  TsvOptions options;
  options.source_column = static_cast<std::size_t>(config.source_column);
  options.target_column = static_cast<std::size_t>(config.target_column);
  options.allow_extra_columns = config.allow_extra_columns;
  options.limit = unless_zero(limit);
  return read_tsv(files.pairs, options);
}

Sentences tokenised(const Corpus& corpus, const Tokenizer& tokenizer, std::string SentencePair::*side) {
  Sentences sentences;
  sentences.reserve(corpus.pairs.size());
  for (const SentencePair& pair : corpus.pairs) sentences.push_back(tokenizer.tokenize(pair.*side));
  return sentences;
}

Vocabulary vocabulary_of(const Tokenizer& tokenizer, const Sentences& sentences, const DataConfig& config) {
  if (tokenizer.model()) return tokenizer.model()->vocabulary();
  return Vocabulary::build(sentences, static_cast<std::size_t>(config.min_frequency),
                           unless_zero(config.max_vocabulary));
}

void build_vocabularies(const DataConfig& config, const Sentences& source, const Sentences& target,
                        TextProcessing& text) {
  if (config.shared_vocabulary) {
    Sentences both = source;
    both.insert(both.end(), target.begin(), target.end());
    text.source_vocabulary = text.target_vocabulary = vocabulary_of(text.source_tokenizer, both, config);
    return;
  }
  text.source_vocabulary = vocabulary_of(text.source_tokenizer, source, config);
  text.target_vocabulary = vocabulary_of(text.target_tokenizer, target, config);
}

PreparedCorpus encoded(Corpus corpus, const Sentences& source, const Sentences& target,
                       const TextProcessing& text) {
  std::vector<std::size_t> lines;
  lines.reserve(corpus.pairs.size());
  for (const SentencePair& pair : corpus.pairs) lines.push_back(pair.line);
  EncodedCorpus ids(source, target, lines, text.source_vocabulary, text.target_vocabulary,
                    {text.steps, text.max_length});
  return {std::move(corpus), std::move(ids)};
}

void note_side(const PreparedCorpus& prepared, const EncodedSide& side, const char* name,
               std::vector<std::string>& findings) {
  if (side.cropped_lines.count == 0) return;
  const std::size_t shown = std::min<std::size_t>(5, side.cropped_lines.count);
  findings.push_back(fmt::format("{}: {} {} sentences are cropped (lines {}{})", prepared.corpus.name,
                                 side.cropped_lines.count, name,
                                 fmt::join(std::span(side.cropped_lines.first).first(shown), ", "),
                                 side.cropped_lines.count > shown ? ", ..." : ""));
}

void note(const PreparedCorpus& prepared, std::vector<std::string>& findings) {
  const Corpus& corpus = prepared.corpus;
  for (const TextReport& report : corpus.reports) {
    if (const auto warning = report.warning()) findings.push_back(*warning);
  }
  if (corpus.blank_lines.count > 0)
    findings.push_back(fmt::format("{}: {} blank lines are skipped", corpus.name, corpus.blank_lines.count));
  if (corpus.one_sided_lines.count > 0) {
    findings.push_back(fmt::format("{}: {} lines with text on one side only are skipped", corpus.name,
                                   corpus.one_sided_lines.count));
  }
  note_side(prepared, prepared.encoded.source(), "source", findings);
  note_side(prepared, prepared.encoded.target(), "target", findings);
}

// Over ids and line breaks, so that it changes exactly when training would.
std::string digest(const EncodedCorpus& corpus) {
  Sha256 hash;
  for (const auto side : {&EncodedPair::source, &EncodedPair::target}) {
    std::string bytes;
    for (std::size_t i = 0; i < corpus.size(); ++i) {
      bytes.clear();
      for (const std::int32_t id : corpus.pair(i).*side) fmt::format_to(std::back_inserter(bytes), "{} ", id);
      hash.update(bytes += '\n');
    }
  }
  return hash.hex_digest();
}

PreparedCorpus prepare_held_out(const CorpusFiles& files, const DataConfig& config,
                                const TextProcessing& text) {
  if (!files.given()) return {Corpus{}, EncodedCorpus()};
  Corpus corpus = read(files, config, 0);
  const Sentences source = tokenised(corpus, text.source_tokenizer, &SentencePair::source);
  const Sentences target = tokenised(corpus, text.target_tokenizer, &SentencePair::target);
  require_coverage(text.source_vocabulary, source, fmt::format("the source side of {}", corpus.name),
                   static_cast<std::size_t>(config.min_frequency));
  return encoded(std::move(corpus), source, target, text);
}

}  // namespace

PreparedData prepare_data(const DataConfig& config, std::uint64_t seed) {
  PreparedData data;
  set_tokenizers(config, data.text);
  data.text.steps = unless_zero(config.steps);
  data.text.max_length = unless_zero(config.max_length);

  Corpus corpus = read(config.train, config, config.limit);
  train_tokenizers(config, corpus, seed, data.text);
  const Sentences source = tokenised(corpus, data.text.source_tokenizer, &SentencePair::source);
  const Sentences target = tokenised(corpus, data.text.target_tokenizer, &SentencePair::target);
  build_vocabularies(config, source, target, data.text);
  const auto frequency = static_cast<std::size_t>(config.min_frequency);
  require_coverage(data.text.source_vocabulary, source, fmt::format("the source side of {}", corpus.name),
                   frequency);
  require_coverage(data.text.target_vocabulary, target, fmt::format("the target side of {}", corpus.name),
                   frequency);
  data.train = encoded(std::move(corpus), source, target, data.text);
  data.valid = prepare_held_out(config.valid, config, data.text);
  data.test = prepare_held_out(config.test, config, data.text);
  for (const PreparedCorpus* prepared : {&data.train, &data.valid, &data.test})
    note(*prepared, data.findings);
  data.sha256 = digest(data.train.encoded);
  return data;
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
