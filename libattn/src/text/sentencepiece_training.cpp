#include <fmt/format.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>
#include <utility>

#include "attn/core/error.h"
#include "attn/text/sentencepiece_model.h"

namespace attn {
namespace {

// Of a Vocabulary with the pieces of a model, in which unk is the only special one, beyond the model's own.
constexpr std::size_t further_special_tokens = Vocabulary::special_count - 1;

/// Hands sentences to the library.
class Sentences : public sentencepiece::SentenceIterator {
 public:
  explicit Sentences(std::span<const std::string> sentences) : sentences_(sentences) {}
  bool done() const override { return position_ == sentences_.size(); }
  void Next() override { ++position_; }
  const std::string& value() const override { return sentences_[position_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  std::span<const std::string> sentences_;
  std::size_t position_ = 0;
};

// A list of texts as the library reads it: separated by commas, those with commas or quotes in quotes.
std::string comma_separated(std::span<const std::string> texts) {
  std::string list;
  for (const std::string& text : texts) {
    if (!list.empty()) list += ',';
    list += '"';
    for (const char c : text) list += c == '"' ? std::string("\"\"") : std::string(1, c);
    list += '"';
  }
  return list;
}

std::unordered_map<std::string, std::string> arguments(const SentencePieceOptions& options,
                                                       std::size_t pieces) {
  const bool identity = options.normalizer == "identity";
  std::unordered_map<std::string, std::string> result{
      {"model_type", options.algorithm == SentencePieceOptions::Algorithm::bpe ? "bpe" : "unigram"},
      {"vocab_size", std::to_string(pieces)},
      {"character_coverage", fmt::format("{}", options.character_coverage)},
      {"byte_fallback", options.byte_fallback ? "true" : "false"},
      {"normalization_rule_name", options.normalizer},
      {"remove_extra_whitespaces", identity ? "false" : "true"},
      {"unk_id", "0"},
      {"bos_id", "-1"},
      {"eos_id", "-1"},
      {"pad_id", "-1"},
      {"unk_surface", "<unk>"},
      {"max_sentence_length", "1048576"},  // longer ones are left out
      {"num_threads", "4"},                // sums depend on it, so it does not depend on the machine
      {"minloglevel", "2"}};
  if (!options.user_symbols.empty()) result["user_defined_symbols"] = comma_separated(options.user_symbols);
  return result;
}

// The number that follows `words` in a message of the library.
std::optional<std::size_t> number_after(std::string_view message, std::string_view words) {
  const std::size_t at = message.find(words);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view digits = message.substr(at + words.size());
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

struct Attempt {
  std::string model;    // empty if it failed
  std::string message;  // then: of the library
};

Attempt attempt(std::span<const std::string> sentences, const SentencePieceOptions& options,
                std::size_t pieces) {
  Sentences iterator(sentences);
  Attempt result;
  const auto status =
      sentencepiece::SentencePieceTrainer::Train(arguments(options, pieces), &iterator, &result.model);
  if (status.ok()) return result;
  return {{}, status.error_message()};
}

constexpr std::string_view too_large = "Please set it to a value <= ";
constexpr std::string_view too_small = "Vocabulary size is smaller than required_chars. ";

// The largest size that is known to do: what the library offers may, when asked for, be too large once more.
std::optional<std::size_t> allowed_pieces(std::span<const std::string> sentences,
                                          const SentencePieceOptions& options, std::string message) {
  constexpr int most_attempts = 5;
  for (int i = 0; i < most_attempts; ++i) {
    const auto offered = number_after(message, too_large);
    if (!offered) return std::nullopt;
    Attempt next = attempt(sentences, options, *offered);
    if (!next.model.empty()) return offered;
    message = std::move(next.message);
  }
  return std::nullopt;
}

[[noreturn]] void fail_to_train(std::span<const std::string> sentences, const SentencePieceOptions& options,
                                std::string_view description, const std::string& message) {
  if (const auto allowed = allowed_pieces(sentences, options, message)) {
    fail(
        ExitCode::config,
        "a subword vocabulary of {} entries is larger than {} allows; set subwords.vocabulary_size to {}, or "
        "use more text",
        options.vocabulary_size, description, *allowed + further_special_tokens);
  }
  if (message.find(too_large) != std::string::npos) {
    fail(
        ExitCode::config,
        "a subword vocabulary of {} entries is larger than {} allows; lower subwords.vocabulary_size, or use "
        "more text",
        options.vocabulary_size, description);
  }
  if (message.find(too_small) != std::string::npos) {
    const auto needed = number_after(message, " vs ");
    fail(ExitCode::config,
         "a subword vocabulary of {} entries is too small for the characters of {}; set "
         "subwords.vocabulary_size to {} or more, or lower subwords.character_coverage",
         options.vocabulary_size, description, needed.value_or(0) + further_special_tokens);
  }
  fail(ExitCode::input_data, "SentencePiece cannot train a model on {}: {}", description, message);
}

}  // namespace

SentencePieceModel SentencePieceModel::train(std::span<const std::string> sentences,
                                             const SentencePieceOptions& options,
                                             std::string_view description) {
  if (std::all_of(sentences.begin(), sentences.end(), [](const std::string& text) { return text.empty(); }))
    fail(ExitCode::input_data, "{} has no text to train subwords on", description);
  if (options.vocabulary_size <= static_cast<std::size_t>(Vocabulary::special_count)) {
    fail(ExitCode::config, "a subword vocabulary of {} entries has no room beside the {} special tokens",
         options.vocabulary_size, Vocabulary::special_count);
  }
  Attempt result = attempt(sentences, options, options.vocabulary_size - further_special_tokens);
  if (result.model.empty()) fail_to_train(sentences, options, description, result.message);
  return from_bytes(std::move(result.model), "the model that SentencePiece trained");
}

}  // namespace attn
