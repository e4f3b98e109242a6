#include "attn/experiment/guided_data.h"

#include <fmt/format.h>

#include <utility>

#include "attn/core/error.h"
#include "attn/decoding/alignment_words.h"
#include "attn/evaluation/alignment_error_rate.h"
#include "attn/text/lines.h"

namespace attn {
namespace {

// What links number in one sentence: tokens, or words with the tokens that they consist of.
class Units {
 public:
  Units(const std::string& text, const Tokenizer& tokenizer, AlignmentUnit unit) {
    const std::vector<Token> tokens = tokenizer.tokenize_with_spans(text);
    if (unit == AlignmentUnit::token) {
      tokens_.resize(tokens.size());
      for (std::size_t i = 0; i < tokens.size(); ++i) tokens_[i].push_back(static_cast<std::int32_t>(i));
      return;
    }
    const std::vector<TextSpan> words = words_of(text);
    tokens_.resize(words.size());
    const std::vector<WordRange> ranges = words_of_tokens(words, tokens);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      for (std::size_t word = ranges[i].first; word < ranges[i].last; ++word)
        tokens_[word].push_back(static_cast<std::int32_t>(i));
    }
  }

  std::size_t count() const noexcept { return tokens_.size(); }
  std::span<const std::int32_t> tokens(std::int64_t unit) const {
    return tokens_[static_cast<std::size_t>(unit)];
  }

 private:
  std::vector<std::vector<std::int32_t>> tokens_;
};

std::vector<GuidedLink> token_links(const WordLinks& links, const Units& source, const Units& target) {
  std::vector<GuidedLink> result;
  for (const auto& [from, to] : links.sure) {
    for (const std::int32_t source_token : source.tokens(from)) {
      for (const std::int32_t target_token : target.tokens(to))
        result.push_back({source_token, target_token});
    }
  }
  return result;
}

[[noreturn]] void fail_length(const LineReader& reader, const std::string& file, std::size_t lines,
                              const Corpus& corpus) {
  fail(ExitCode::input_data,
       "{} has {} {} lines, but {} has {}; alignments need a line for every line of the corpus, blank ones "
       "too",
       file, reader.line_number() < lines ? "only" : "more than",
       reader.line_number() < lines ? reader.line_number() : lines, corpus.name, lines);
}

}  // namespace

void describe_alignments(config::Schema& schema, DataConfig& config) {
  schema.field("data.train_alignments", config.train_alignments, config::Path{},
               "Word alignments of the training pairs (Pharaoh format), which attention is taught to follow");
  schema.field(
      "data.alignment_unit", config.alignment_unit,
      config::Choice<AlignmentUnit>{{{"word", AlignmentUnit::word}, {"token", AlignmentUnit::token}}},
      "What these alignments number: words between white space, or tokens");
}

void describe_guidance(config::Schema& schema, TrainingConfig& config) {
  GuidedAlignment::Options& options = config.guided_alignment;
  schema.field("training.guided_alignment_weight", options.weight, config::Real{.minimum = 0},
               "Weight of the loss of data.train_alignments beside that of the translation");
  schema.field("training.guided_alignment_layer", options.layer, config::Integer{.minimum = 0},
               "Decoder layer whose attention follows them, from 0; null: the last but one");
  schema.field("training.guided_alignment_head", options.head, config::Integer{.minimum = 0},
               "Its head, from 0; null: the mean of all heads");
}

void check_guidance(config::Schema& schema, const ExperimentConfig& config) {
  if (config.data.train_alignments.empty()) return;
  const ModelConfig& model = config.model;
  const GuidedAlignment::Options& options = config.training.guided_alignment;
  if (model.type == ModelConfig::Type::seq2seq)
    schema.problem("data.train_alignments", "needs a model with attention to the source; seq2seq has none");
  if (config.data.streaming)
    schema.problem("data.train_alignments", "needs the text of the training pairs, so data.streaming: false");
  const bool is_transformer = model.type == ModelConfig::Type::transformer;
  const std::int64_t layers = is_transformer ? model.decoder_layers : 1,
                     heads = is_transformer ? model.heads : 1;
  const auto check = [&](const char* key, const std::optional<std::int64_t>& value, std::int64_t count,
                         const char* what) {
    if (value.value_or(0) < count) return;
    schema.problem(
        key, fmt::format("{}: the attention to the source has {} {}, counted from 0", *value, count, what));
  };
  check("training.guided_alignment_layer", options.layer, layers, "layers");
  check("training.guided_alignment_head", options.head, heads, "heads");
}

std::map<std::size_t, std::vector<GuidedLink>> read_training_links(const DataConfig& config,
                                                                   const Corpus& corpus,
                                                                   const TextProcessing& text) {
  const std::string file = config.train_alignments.string();
  const std::size_t lines = corpus.reports.front().lines;
  LineReader reader(config.train_alignments);
  std::map<std::size_t, std::vector<GuidedLink>> links;
  auto pair = corpus.pairs.begin();
  while (reader.line_number() < lines) {
    const std::optional<std::string> line = reader.next();
    if (!line) fail_length(reader, file, lines, corpus);
    const std::size_t number = reader.line_number();
    const std::string place = fmt::format("{}:{}", file, number);
    if (pair == corpus.pairs.end() || pair->line != number) {
      parse_links(*line, place, {});  // of a pair that is left out
      continue;
    }
    const Units source(pair->source, text.source_tokenizer, config.alignment_unit),
        target(pair->target, text.target_tokenizer, config.alignment_unit);
    const WordLinks found = parse_links(*line, place, {}, WordCounts{source.count(), target.count()});
    if (!found.sure.empty()) links.emplace(number, token_links(found, source, target));
    ++pair;
  }
  if (config.limit == 0 && reader.next()) fail_length(reader, file, lines, corpus);
  return links;
}

std::shared_ptr<const GuidedAlignment> guidance_of(const ExperimentConfig& config, const PreparedData& data) {
  const GuidedAlignment::Options& options = config.training.guided_alignment;
  if (config.data.train_alignments.empty() || options.weight == 0.0) return nullptr;
  return std::make_shared<const GuidedAlignment>(
      options, read_training_links(config.data, data.train.corpus, data.text));
}

TrainerConfig with_guidance(TrainerConfig trainer, const ExperimentConfig& config, const PreparedData& data) {
  trainer.loss.guidance = guidance_of(config, data);
  return trainer;
}

}  // namespace attn
