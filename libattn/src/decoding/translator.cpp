#include "attn/decoding/translator.h"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "attn/core/error.h"
#include "attn/decoding/alignment_words.h"
#include "attn/decoding/forced.h"
#include "attn/text/utf8.h"

namespace attn {
namespace {

EncodedLine encode(const std::string& line, const Tokenizer& tokenizer, const Vocabulary& vocabulary) {
  EncodedLine encoded;
  encoded.text = line;
  encoded.tokens = tokenizer.tokenize(line);
  encoded.tokens_found = encoded.tokens.size();
  encoded.ids = vocabulary.encode(encoded.tokens);
  return encoded;
}

void crop(EncodedLine& encoded, std::size_t tokens) {
  if (encoded.tokens.size() <= tokens) return;
  encoded.tokens.resize(tokens);
  encoded.ids.resize(tokens);
}

std::optional<std::size_t> smaller(std::optional<std::size_t> a, std::optional<std::size_t> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

// Source lines as one padded matrix.
struct SourceBatch {
  std::int64_t steps = 0;
  std::vector<std::int32_t> ids, valid_lengths;
  std::vector<std::int32_t> tokens;  // of each line, <eos> not counted

  TokenBatch batch() const {
    return {static_cast<std::int64_t>(valid_lengths.size()), steps, ids, valid_lengths};
  }
};

SourceBatch make_source_batch(std::span<const EncodedLine* const> lines, std::optional<std::size_t> steps) {
  std::size_t columns = steps.value_or(0);
  if (!steps) {
    for (const EncodedLine* line : lines) columns = std::max(columns, line->ids.size());
  }
  SourceBatch batch;
  batch.steps = static_cast<std::int64_t>(columns);
  for (const EncodedLine* line : lines) {
    batch.ids.insert(batch.ids.end(), line->ids.begin(), line->ids.end());
    batch.ids.insert(batch.ids.end(), columns - line->ids.size(), Vocabulary::pad);
    batch.valid_lengths.push_back(static_cast<std::int32_t>(line->ids.size()));
    batch.tokens.push_back(static_cast<std::int32_t>(line->tokens.size()));
  }
  return batch;
}

// Turns weights between tokens into what was asked for.
template<typename Aligned>
void set_alignment(Aligned& aligned, AlignmentMatrix weights, const AlignmentOptions& options,
                   const Tokenizer& tokenizer, const EncodedLine& source, const JoinedText& target) {
  if (options.unit == AlignmentUnit::word) {
    const std::vector<Token> source_tokens = tokenizer.tokenize_with_spans(source.text);
    weights = word_weights(weights, {source.text, source_tokens}, {target.text, target.tokens});
  }
  aligned.alignment = links_of(weights, options);
  if (options.kind == AlignmentKind::soft) aligned.alignment_weights = std::move(weights);
}

// Aligns the k-th best translation of every line that has one.
void align(const TranslationModel& model, const TextProcessing& text, const AlignmentOptions& options,
           std::span<Translation> translations, std::span<const std::size_t> indices, std::size_t k) {
  std::vector<const EncodedLine*> sources;
  std::vector<std::vector<std::int32_t>> targets;
  std::vector<bool> finished;
  std::vector<std::size_t> aligned;
  for (const std::size_t index : indices) {
    if (k >= translations[index].best.size()) continue;
    const Hypothesis& hypothesis = translations[index].best[k].hypothesis;
    sources.push_back(&translations[index].source);
    targets.push_back(hypothesis.tokens);
    finished.push_back(hypothesis.finished);
    aligned.push_back(index);
  }
  if (aligned.empty()) return;
  const SourceBatch source = make_source_batch(sources, text.steps);
  auto weights = attention_weights(model, source.batch(), source.tokens, targets, finished, options);
  for (std::size_t i = 0; i < aligned.size(); ++i) {
    TranslatedText& best = translations[aligned[i]].best[k];
    set_alignment(best, std::move(weights[i]), options, text.source_tokenizer, *sources[i],
                  text.target_tokenizer.detokenize_with_spans(best.tokens));
  }
}

std::string text_of(const Tokenizer& tokenizer, std::span<const std::string> tokens) {
  std::string text = tokenizer.detokenize(tokens);
  // A model that writes bytes may write this one, and one line would become two.
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

bool has_unknown(const TranslatedText& translated) {
  const std::vector<std::int32_t>& ids = translated.hypothesis.tokens;
  return std::find(ids.begin(), ids.end(), Vocabulary::unk) != ids.end();
}

// Replaces <unk> in all translations of these lines, one translation of each line at a time.
void replace_unknown_words(const TranslationModel& model, const TextProcessing& text,
                           const WordDictionary& dictionary, std::span<Translation> translations,
                           std::span<const std::size_t> indices, std::size_t k) {
  std::vector<const EncodedLine*> sources;
  std::vector<TranslatedText*> incomplete;
  std::vector<std::vector<std::int32_t>> targets;
  std::vector<bool> finished;
  for (const std::size_t index : indices) {
    Translation& translation = translations[index];
    if (k >= translation.best.size() || !has_unknown(translation.best[k])) continue;
    sources.push_back(&translation.source);
    incomplete.push_back(&translation.best[k]);
    targets.push_back(translation.best[k].hypothesis.tokens);
    finished.push_back(translation.best[k].hypothesis.finished);
  }
  if (incomplete.empty()) return;
  const SourceBatch source = make_source_batch(sources, text.steps);
  const auto weights = attention_weights(model, source.batch(), source.tokens, targets, finished, {});
  for (std::size_t i = 0; i < incomplete.size(); ++i) {
    const std::string& line = sources[i]->text;
    incomplete[i]->replaced = replace_unknown(incomplete[i]->tokens, targets[i], weights[i], line,
                                              text.source_tokenizer.tokenize_with_spans(line), dictionary);
    incomplete[i]->text = text_of(text.target_tokenizer, incomplete[i]->tokens);
  }
}

// Does a batch in one go; in halves if there is not enough memory, down to single lines, which are given up
// if they do not fit either.
template<typename Together, typename GiveUp>
void with_memory_at_hand(const TranslationModel& model, std::span<const std::size_t> batch,
                         const Together& together, const GiveUp& give_up) {
  try {
    together(batch);
    return;
  } catch (const OutOfMemory&) {
    // Handled below, when what the attempt held is free again.
  } catch (const std::bad_alloc&) {
  }
  model.device()->release_cache();
  if (batch.size() == 1) {
    give_up(batch.front());
    return;
  }
  const std::size_t half = (batch.size() + 1) / 2;
  with_memory_at_hand(model, batch.first(half), together, give_up);
  with_memory_at_hand(model, batch.subspan(half), together, give_up);
}

}  // namespace

std::optional<std::string> cropping_warning(const EncodedLine& encoded, std::string_view name,
                                            std::size_t line, std::string_view side) {
  if (!encoded.cropped()) return std::nullopt;
  return fmt::format("{}:{}: this {} line of {} tokens is longer than the model takes and was cropped to {}",
                     name, line, side, encoded.tokens_found, encoded.tokens.size());
}

Translator::Translator(const TranslationModel& model, const ModelConfig& config, const TextProcessing& text,
                       TranslatorOptions options)
    : model_(model), text_(text), options_(std::move(options)) {
  if (config.type == ModelConfig::Type::transformer && config.positions == PositionKind::learned) {
    position_limit_ = static_cast<std::size_t>(config.max_length);
    options_.search.position_limit = config.max_length;
  }
  // As in the book, which decodes as many steps as a source has.
  if (options_.search.max_length == 0 && text.steps)
    options_.search.max_length = static_cast<std::int64_t>(*text.steps);
  check(options_.search, model);
  if (config.encode_padding && !text.steps) {
    fail(ExitCode::config,
         "a model that encodes padding (model.encode_padding) translates only with a fixed number of steps "
         "(data.steps), since its results depend on the padding");
  }
  if (options_.batch_tokens == 0 || options_.batch_size == 0u)
    fail(ExitCode::usage, "a batch must have room for at least one token and one line");
  if (options_.alignments) check(*options_.alignments, model);
  if (options_.unknown_words) check(AlignmentOptions{}, model);
}

EncodedLine Translator::encode_source(const std::string& line) const {
  EncodedLine encoded = attn::encode(line, text_.source_tokenizer, text_.source_vocabulary);
  if (text_.steps) {
    crop(encoded, *text_.steps);
    if (encoded.ids.size() < *text_.steps) encoded.ids.push_back(Vocabulary::eos);
    return encoded;
  }
  if (const auto limit = smaller(text_.max_length, position_limit_)) crop(encoded, *limit - 1);
  encoded.ids.push_back(Vocabulary::eos);
  return encoded;
}

EncodedLine Translator::encode_target(const std::string& line) const {
  EncodedLine encoded = attn::encode(line, text_.target_tokenizer, text_.target_vocabulary);
  if (position_limit_) crop(encoded, *position_limit_ - 1);
  encoded.ids.push_back(Vocabulary::eos);
  return encoded;
}

// Sorts by length, then fills batches of similar length; lengths of 0 are left out.
Translator::Batches Translator::batches_of(std::span<const std::size_t> lengths, std::size_t rows_a_line,
                                           std::size_t most_lines) const {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] > 0) order.push_back(i);
  }
  // The longest first, so that a lack of memory shows at once, and no worker is left alone with them at the
  // end.
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return lengths[a] > lengths[b]; });
  std::size_t limit = options_.batch_size.value_or(order.size());
  if (most_lines > 0) limit = std::min(limit, most_lines);
  Batches result;
  std::size_t columns = 0;
  for (const std::size_t index : order) {
    const std::size_t lines = result.empty() ? 0 : result.back().size();
    const bool full =
        result.empty() || lines >= limit || (lines + 1) * rows_a_line * columns > options_.batch_tokens;
    if (full) {
      result.emplace_back();
      columns = lengths[index];
    }
    result.back().push_back(index);
  }
  return result;
}

std::vector<Translation> Translator::encode(std::span<const std::string> lines, std::size_t first_line,
                                            std::span<const std::string> prefixes) const {
  std::vector<Translation> translations(lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    Translation& translation = translations[i];
    translation.line = first_line + i;
    translation.source = encode_source(lines[i]);
    translation.blank = translation.source.tokens_found == 0 || is_blank(lines[i]);
    if (!translation.blank) continue;
    translation.best.resize(1);
    translation.best.front().hypothesis.finished = true;
  }
  if (!prefixes.empty()) add_prefixes(translations, prefixes);
  return translations;
}

void Translator::add_prefixes(std::span<Translation> translations,
                              std::span<const std::string> prefixes) const {
  if (prefixes.size() != translations.size()) {
    fail(ExitCode::input_data,
         "{}: there are {} prefixes for {} lines; line i of one belongs to line i of "
         "the other",
         options_.prefix_name, prefixes.size(), translations.size());
  }
  for (std::size_t i = 0; i < prefixes.size(); ++i) {
    Translation& translation = translations[i];
    if (translation.blank || is_blank(prefixes[i])) continue;
    translation.prefix = attn::encode(prefixes[i], text_.target_tokenizer, text_.target_vocabulary);
    const std::int64_t limit =
        step_limit(options_.search, static_cast<std::int64_t>(translation.source.ids.size()));
    if (static_cast<std::int64_t>(translation.prefix.ids.size()) > limit) {
      fail(ExitCode::input_data,
           "{}:{}: this prefix has {} tokens and the translation may have {}; shorten it, or raise the limit "
           "(--max-length, --max-length-ratio)",
           options_.prefix_name, translation.line, translation.prefix.ids.size(), limit);
    }
  }
}

Translator::Batches Translator::batches(std::span<const Translation> translations,
                                        std::size_t most_lines) const {
  std::vector<std::size_t> lengths;
  for (const Translation& translation : translations)
    lengths.push_back(translation.blank ? 0 : translation.source.ids.size());
  const SearchOptions& search_options = options_.search;
  const std::int64_t rows = search_options.sampling ? search_options.n_best : search_options.beam;
  return batches_of(lengths, static_cast<std::size_t>(rows), most_lines);
}

std::vector<Translation> Translator::translate(std::span<const std::string> lines, std::size_t first_line,
                                               std::span<const std::string> prefixes) const {
  std::vector<Translation> translations = encode(lines, first_line, prefixes);
  for (const auto& batch : batches(translations)) {
    translate_batch(translations, batch);
    if (options_.after_batch) options_.after_batch(batch.size());
  }
  return translations;
}

void Translator::translate_batch(std::span<Translation> translations,
                                 std::span<const std::size_t> batch) const {
  with_memory_at_hand(
      model_, batch, [&](std::span<const std::size_t> lines) { translate_together(translations, lines); },
      [&](std::size_t line) {
        translations[line].best.assign(1, {});
        translations[line].out_of_memory = true;
      });
}

void Translator::translate_together(std::span<Translation> translations,
                                    std::span<const std::size_t> indices) const {
  std::vector<const EncodedLine*> sources;
  std::vector<std::uint64_t> numbers;
  std::vector<std::vector<std::int32_t>> prefixes;
  for (const std::size_t index : indices) {
    sources.push_back(&translations[index].source);
    numbers.push_back(translations[index].line);
    prefixes.push_back(translations[index].prefix.ids);
  }
  const SourceBatch source = make_source_batch(sources, text_.steps);
  auto results = search(model_, source.batch(), options_.search, numbers, prefixes);
  std::size_t most = 0;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    translations[indices[i]].best.clear();
    for (Hypothesis& hypothesis : results[i]) {
      TranslatedText best;
      best.tokens = text_.target_vocabulary.decode(hypothesis.tokens);
      best.text = text_of(text_.target_tokenizer, best.tokens);
      best.hypothesis = std::move(hypothesis);
      translations[indices[i]].best.push_back(std::move(best));
    }
    most = std::max(most, results[i].size());
  }
  if (options_.unknown_words) {
    for (std::size_t k = 0; k < most; ++k)
      replace_unknown_words(model_, text_, *options_.unknown_words, translations, indices, k);
  }
  if (!options_.alignments) return;
  for (std::size_t k = 0; k < most; ++k) align(model_, text_, *options_.alignments, translations, indices, k);
}

std::vector<ScoredLine> Translator::encode(std::span<const std::string> sources,
                                           std::span<const std::string> targets,
                                           std::size_t first_line) const {
  if (sources.size() != targets.size()) {
    fail(ExitCode::input_data,
         "there are {} source lines and {} target lines; line i of one belongs to line i of the other",
         sources.size(), targets.size());
  }
  std::vector<ScoredLine> scored(sources.size());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    scored[i].line = first_line + i;
    scored[i].source = encode_source(sources[i]);
    scored[i].target = encode_target(targets[i]);
  }
  return scored;
}

Translator::Batches Translator::batches(std::span<const ScoredLine> scored, std::size_t most_lines) const {
  std::vector<std::size_t> lengths;
  for (const ScoredLine& line : scored) lengths.push_back(line.source.ids.size() + line.target.ids.size());
  return batches_of(lengths, 1, most_lines);
}

void Translator::score_batch(std::span<ScoredLine> scored, std::span<const std::size_t> batch) const {
  with_memory_at_hand(
      model_, batch, [&](std::span<const std::size_t> lines) { score_together(scored, lines); },
      [&](std::size_t line) {
        scored[line].token_log_probabilities.clear();
        scored[line].log_probability = std::numeric_limits<double>::quiet_NaN();
        scored[line].out_of_memory = true;
      });
}

void Translator::score_together(std::span<ScoredLine> scored, std::span<const std::size_t> indices) const {
  std::vector<const EncodedLine*> lines;
  std::vector<std::vector<std::int32_t>> labels;
  for (const std::size_t index : indices) {
    lines.push_back(&scored[index].source);
    labels.push_back(scored[index].target.ids);
  }
  const SourceBatch source = make_source_batch(lines, text_.steps);
  Context context;
  std::optional<AlignmentObserver> observer;
  if (options_.alignments) {
    const std::int64_t target_steps = make_decoder_input(labels).steps;
    observer.emplace(model_, *options_.alignments, source.batch().size, source.steps, target_steps);
    observer->watch(context);
  }
  std::vector<ForcedScore> scores = forced_scores(model_, source.batch(), labels, context);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    ScoredLine& line = scored[indices[i]];
    line.token_log_probabilities = std::move(scores[i].token_log_probabilities);
    line.log_probability = scores[i].log_probability;
    if (!observer) continue;
    const EncodedLine& target = line.target;
    set_alignment(line,
                  observer->weights(i, target.tokens.size(), line.source.tokens.size(), target.ids.size()),
                  *options_.alignments, text_.source_tokenizer, line.source,
                  {target.text, text_.target_tokenizer.tokenize_with_spans(target.text)});
  }
}

std::vector<ScoredLine> Translator::score(std::span<const std::string> sources,
                                          std::span<const std::string> targets,
                                          std::size_t first_line) const {
  std::vector<ScoredLine> scored = encode(sources, targets, first_line);
  for (const auto& batch : batches(scored)) {
    score_batch(scored, batch);
    if (options_.after_batch) options_.after_batch(batch.size());
  }
  return scored;
}

}  // namespace attn
