#include "subwords.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <set>
#include <span>

#include "attn/text/shuffle.h"
#include "attn/text/utf8.h"

namespace attn {
namespace {

constexpr std::string_view sentencepiece = "sentencepiece";
constexpr std::string_view bpe = "bpe";

bool source_is(const DataConfig& config, std::string_view tokenizer) {
  return config.source_tokenizer == tokenizer;
}
bool target_is(const DataConfig& config, std::string_view tokenizer) {
  return config.target_tokenizer == tokenizer;
}

void check_user_symbols(config::Schema& schema, const std::vector<std::string>& symbols) {
  std::set<std::string_view> seen;
  for (const std::string& symbol : symbols) {
    const std::u32string code_points = decode_utf8(symbol);
    if (symbol.empty() || std::any_of(code_points.begin(), code_points.end(), is_unicode_space))
      schema.problem("subwords.user_symbols", "must not be empty or hold white space");
    else if (!seen.insert(symbol).second)
      schema.problem("subwords.user_symbols", fmt::format("names '{}' twice", symbol));
  }
}

Tokenizer tokenizer_from(const std::string& name, const DataConfig& config,
                         const std::filesystem::path& codes) {
  if (name == bpe && !codes.empty()) return Tokenizer::applying(BpeCodes::read(codes));
  return Tokenizer::named(name, {config.keep_spaces});
}

Tokenizer reading(const std::filesystem::path& model) {
  return Tokenizer::with_model(SentencePieceModel::read(model));
}

// Which pairs to train on, in their order.
std::vector<std::size_t> drawn_pairs(std::size_t count, std::size_t limit, std::uint64_t seed) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (limit > 0 && limit < count) {
    SplitMix64 generator(seed);
    shuffle(std::span(order), generator);
    order.resize(limit);
    std::sort(order.begin(), order.end());
  }
  return order;
}

// The sentences of the sides that are wanted, all sources before all targets.
std::vector<std::string> sentences_of(const PairPasses& pairs, const std::vector<std::size_t>& drawn,
                                      bool with_source, bool with_target) {
  std::vector<std::string> sentences, targets;
  std::size_t index = 0, next = 0;
  pairs.each([&](const SentencePair& pair) {
    const bool wanted = next < drawn.size() && drawn[next] == index++;
    if (!wanted) return;
    ++next;
    if (with_source) sentences.push_back(pair.source);
    if (with_target) targets.push_back(pair.target);
  });
  sentences.insert(sentences.end(), std::make_move_iterator(targets.begin()),
                   std::make_move_iterator(targets.end()));
  return sentences;
}

}  // namespace

void describe_subwords(config::Schema& schema, SubwordConfig& s) {
  using Algorithm = SentencePieceOptions::Algorithm;
  const config::Integer size{.minimum = Vocabulary::special_count + 1,
                             .maximum = std::numeric_limits<std::int32_t>::max()};
  const config::Integer not_negative{.minimum = 0};
  schema.field("subwords.algorithm", s.training.algorithm,
               config::Choice<Algorithm>{{{"unigram", Algorithm::unigram}, {"bpe", Algorithm::bpe}}},
               "Kind of SentencePiece model to train");
  schema.field("subwords.vocabulary_size", s.training.vocabulary_size, size,
               "Entries of a vocabulary of subwords, the four special tokens included");
  schema.field("subwords.character_coverage", s.training.character_coverage,
               config::Real{.minimum = 0.98, .maximum = 1.0},
               "Share of the characters of the training text that get a piece");
  schema.field("subwords.byte_fallback", s.training.byte_fallback, config::Boolean{},
               "Spell other characters as pieces <0x00> to <0xFF> instead of <unk>");
  schema.field("subwords.user_symbols", s.training.user_symbols, config::Text{},
               "Texts that always are one piece");
  schema.field("subwords.normalizer", s.training.normalizer,
               config::Choice<std::string>{{{"identity", "identity"},
                                            {"nmt_nfkc", "nmt_nfkc"},
                                            {"nfkc", "nfkc"},
                                            {"nmt_nfkc_cf", "nmt_nfkc_cf"},
                                            {"nfkc_cf", "nfkc_cf"}}},
               "identity leaves text as it is, to the byte; the others are SentencePiece's");
  schema.field("subwords.sentences", s.sentences, not_negative,
               "Sentences of each side to train subwords on, drawn by the seed; 0: all");
  schema.field(
      "subwords.source_model", s.source_model, config::Path{},
      "SentencePiece .model file for the source, or both with a shared vocabulary, instead of training");
  schema.field("subwords.target_model", s.target_model, config::Path{},
               "SentencePiece .model file for the target, instead of training");
  schema.field("subwords.source_codes", s.source_codes, config::Path{},
               "bpe: codes of subword-nmt that split the source; none: it is split already (@@)");
  schema.field("subwords.target_codes", s.target_codes, config::Path{},
               "bpe: codes of subword-nmt that split the target; none: it is split already (@@)");
}

void check_subwords(config::Schema& schema, const DataConfig& data) {
  const SubwordConfig& subwords = data.subwords;
  const auto needs = [&](const char* key, const std::filesystem::path& file, bool has,
                         const char* tokenizer_key, std::string_view tokenizer) {
    if (!file.empty() && !has) schema.problem(key, fmt::format("needs {}: {}", tokenizer_key, tokenizer));
  };
  const bool source_pieces = source_is(data, sentencepiece), target_pieces = target_is(data, sentencepiece);
  needs("subwords.source_model", subwords.source_model, source_pieces, "data.source_tokenizer",
        sentencepiece);
  needs("subwords.target_model", subwords.target_model, target_pieces, "data.target_tokenizer",
        sentencepiece);
  needs("subwords.source_codes", subwords.source_codes, source_is(data, bpe), "data.source_tokenizer", bpe);
  needs("subwords.target_codes", subwords.target_codes, target_is(data, bpe), "data.target_tokenizer", bpe);
  check_user_symbols(schema, subwords.training.user_symbols);
  if (data.shared_vocabulary && source_pieces != target_pieces) {
    schema.problem(
        "data.shared_vocabulary",
        "needs the tokenizer sentencepiece on both sides, or on none: its pieces are the vocabulary");
  }
  if (data.shared_vocabulary && !subwords.target_model.empty() &&
      subwords.target_model != subwords.source_model) {
    schema.problem("subwords.target_model",
                   "must be subwords.source_model, or left out, with data.shared_vocabulary: true");
  }
  if (!source_pieces || !target_pieces) return;
  if (data.max_vocabulary > 0)
    schema.problem("data.max_vocabulary", "is not for sentencepiece; set subwords.vocabulary_size");
  if (data.min_frequency > 1)
    schema.problem("data.min_frequency", "is not for sentencepiece, which has no rare pieces; leave it 1");
}

void set_tokenizers(const DataConfig& config, TextProcessing& text) {
  const SubwordConfig& subwords = config.subwords;
  if (!source_is(config, sentencepiece))
    text.source_tokenizer = tokenizer_from(config.source_tokenizer, config, subwords.source_codes);
  else if (!subwords.source_model.empty())
    text.source_tokenizer = reading(subwords.source_model);
  if (!target_is(config, sentencepiece))
    text.target_tokenizer = tokenizer_from(config.target_tokenizer, config, subwords.target_codes);
  else if (config.shared_vocabulary && text.source_tokenizer.model())
    text.target_tokenizer = text.source_tokenizer;
  else if (!subwords.target_model.empty())
    text.target_tokenizer = reading(subwords.target_model);
}

void train_tokenizers(const DataConfig& config, const PairPasses& pairs, std::uint64_t seed,
                      TextProcessing& text) {
  const bool source = source_is(config, sentencepiece) && !text.source_tokenizer.model();
  const bool target = target_is(config, sentencepiece) && !text.target_tokenizer.model();
  if (!source && !target) return;
  const std::vector<std::size_t> drawn =
      drawn_pairs(pairs.size(), static_cast<std::size_t>(config.subwords.sentences), seed);
  const auto train = [&](bool with_source, bool with_target, const std::string& description) {
    return Tokenizer::with_model(SentencePieceModel::train(
        sentences_of(pairs, drawn, with_source, with_target), config.subwords.training, description));
  };
  if (config.shared_vocabulary && source && target) {
    text.source_tokenizer = text.target_tokenizer = train(true, true, pairs.name());
    return;
  }
  if (source) text.source_tokenizer = train(true, false, fmt::format("the source side of {}", pairs.name()));
  if (target) text.target_tokenizer = train(false, true, fmt::format("the target side of {}", pairs.name()));
}

}  // namespace attn
