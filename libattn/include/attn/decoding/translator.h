#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/decoding/alignment.h"
#include "attn/decoding/search.h"
#include "attn/decoding/unknown_words.h"
#include "attn/text/text_processing.h"

namespace attn {

/// How text is translated.
struct TranslatorOptions {
  SearchOptions search;
  /// Most source positions a batch, padding and the hypotheses of the beam counted. A line that is longer is
  /// a batch of its own.
  std::size_t batch_tokens = 8192;
  std::optional<std::size_t> batch_size;       ///< most lines a batch, as a further limit
  std::optional<AlignmentOptions> alignments;  ///< find out which source each target attends to
  /// Present: <unk> in translations are replaced (replace_unknown), with this dictionary.
  std::shared_ptr<const WordDictionary> unknown_words;
  std::string prefix_name = "prefixes";  ///< the file that prefixes come from, for messages
  /// Called after each batch with the number of lines that it held; may throw to stop the work.
  std::function<void(std::size_t lines)> after_batch;
};

/// A text line as ids for the model.
struct EncodedLine {
  std::string text;                 ///< the line
  std::vector<std::string> tokens;  ///< the source tokens that are used, without <eos>
  std::vector<std::int32_t> ids;    ///< their ids, and <eos> unless `steps` cut it off
  std::size_t tokens_found = 0;     ///< before cropping, without <eos>
  bool cropped() const noexcept { return tokens.size() < tokens_found; }
};

/// One translation of a line.
struct TranslatedText {
  std::string text;
  std::vector<std::string> tokens;
  Hypothesis hypothesis;
  std::size_t replaced = 0;              ///< <unk> that were replaced, in `text` and in `tokens`
  std::vector<AlignmentLink> alignment;  ///< if asked for, with the numbers of tokens or words
  AlignmentMatrix alignment_weights;     ///< of soft alignments
};

/// A line and its translations.
struct Translation {
  std::size_t line = 0;        ///< its number, from 1
  bool blank = false;          ///< nothing but space: its translation is one empty text
  bool out_of_memory = false;  ///< not even alone did it fit: its translation is one empty text
  EncodedLine source;
  EncodedLine prefix;                ///< what each translation begins with, without <eos>
  std::vector<TranslatedText> best;  ///< at least one, the best first

  const std::string& text() const { return best.front().text; }
};

/// A line and the log-probability of a given translation of it.
struct ScoredLine {
  std::size_t line = 0;  ///< its number, from 1
  EncodedLine source, target;
  std::vector<double> token_log_probabilities;  ///< of the target's tokens and its <eos>, in nats
  double log_probability = 0.0;                 ///< their sum; not a number if out_of_memory
  bool out_of_memory = false;                   ///< not even alone did it fit
  std::vector<AlignmentLink> alignment;         ///< if asked for, with the numbers of tokens or words
  AlignmentMatrix alignment_weights;            ///< of soft alignments
};

/// One sentence about a line that was cropped: its number, and its length before and after; nothing if it was
/// not. `side` is "source" or "target", `name` the file.
std::optional<std::string> cropping_warning(const EncodedLine& encoded, std::string_view name,
                                            std::size_t line, std::string_view side);

/// Translates text with a model, line for line. What comes out for a line depends on no other line and not on
/// the sizes of the batches.
class Translator {
 public:
  /// Indices of lines that are translated together, batch by batch.
  using Batches = std::vector<std::vector<std::size_t>>;

  /// `model` and `text` must outlive the translator. Throws Error(usage) for options that cannot be, such as
  /// alignments of a model without attention, Error(config) for a model that encodes padding of no fixed
  /// length.
  Translator(const TranslationModel& model, const ModelConfig& config, const TextProcessing& text,
             TranslatorOptions options = {});

  /// One result for each line, in the order of the lines. Lines are sorted by length and translated in
  /// batches. `first_line` is the number of the first line, from which also the random numbers of sampling
  /// follow. `prefixes` is empty, or has for each line the text that its translations begin with, blank:
  /// none. A blank line stays blank whatever its prefix. Throws Error(input_data) for a prefix that is longer
  /// than the translation may be, with its line, and for another number of prefixes than of lines.
  std::vector<Translation> translate(std::span<const std::string> lines, std::size_t first_line = 1,
                                     std::span<const std::string> prefixes = {}) const;

  /// The parts of translate(), for those who have several translators share the work. First: the lines as
  /// ids, and blank ones answered.
  std::vector<Translation> encode(std::span<const std::string> lines, std::size_t first_line,
                                  std::span<const std::string> prefixes = {}) const;
  /// Second: indices of the lines that are to be translated, of similar length in each batch and the longest
  /// first. At most `most_lines` a batch (0: as many as the options allow).
  Batches batches(std::span<const Translation> translations, std::size_t most_lines = 0) const;
  /// Third: translates the lines of one batch, in halves where memory is short. Touches no other line.
  void translate_batch(std::span<Translation> translations, std::span<const std::size_t> batch) const;

  /// The same three parts of score().
  std::vector<ScoredLine> encode(std::span<const std::string> sources, std::span<const std::string> targets,
                                 std::size_t first_line) const;
  Batches batches(std::span<const ScoredLine> scored, std::size_t most_lines = 0) const;
  void score_batch(std::span<ScoredLine> scored, std::span<const std::size_t> batch) const;

  /// The log-probability of targets[i] as a translation of sources[i]. Throws Error(input_data) if their
  /// counts differ.
  std::vector<ScoredLine> score(std::span<const std::string> sources, std::span<const std::string> targets,
                                std::size_t first_line = 1) const;

  /// A source line as ids, cropped to what the model takes.
  EncodedLine encode_source(const std::string& line) const;
  /// A target line as ids.
  EncodedLine encode_target(const std::string& line) const;

  const TranslatorOptions& options() const noexcept { return options_; }

 private:
  void add_prefixes(std::span<Translation> translations, std::span<const std::string> prefixes) const;
  void translate_together(std::span<Translation> translations, std::span<const std::size_t> batch) const;
  void score_together(std::span<ScoredLine> scored, std::span<const std::size_t> batch) const;
  Batches batches_of(std::span<const std::size_t> lengths, std::size_t rows_a_line,
                     std::size_t most_lines) const;

  const TranslationModel& model_;
  const TextProcessing& text_;
  TranslatorOptions options_;
  std::optional<std::size_t> position_limit_;  // of learned positions
};

}  // namespace attn
