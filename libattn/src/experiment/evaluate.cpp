#include "evaluate.h"

#include <algorithm>
#include <cmath>

#include "attn/core/error.h"
#include "attn/decoding/translator.h"
#include "attn/evaluation/bleu.h"
#include "attn/evaluation/chrf.h"

namespace attn {
namespace {

constexpr std::size_t book_ngrams = 2;

std::vector<std::string> sources_of(const Corpus& corpus) {
  std::vector<std::string> sources;
  sources.reserve(corpus.pairs.size());
  for (const SentencePair& pair : corpus.pairs) sources.push_back(pair.source);
  return sources;
}

const Corpus& sample_corpus(const PreparedData& data) {
  if (!data.test.empty()) return data.test.corpus;
  return data.valid.empty() ? data.train.corpus : data.valid.corpus;
}

// The reference of a source that also is a training or held-out sentence, after tokenizing.
std::string reference_for(const TranslationSystem& system, const PreparedData& data,
                          const std::string& source) {
  const Tokenizer& tokenizer = system.text.source_tokenizer;
  const auto wanted = tokenizer.tokenize(source);
  for (const PreparedCorpus* prepared : {&data.test, &data.valid, &data.train}) {
    for (const SentencePair& pair : prepared->corpus.pairs) {
      if (tokenizer.tokenize(pair.source) == wanted) return normalised_target(system.text, pair.target);
    }
  }
  return {};
}

// What a line's translation is depends on no other line, so the parts give what the whole would.
void translate_in_parts(const Translator& translator, std::span<const std::string> sources,
                        std::vector<std::string>& texts) {
  try {
    const std::vector<Translation> translations = translator.translate(sources);
    for (const Translation& translation : translations) texts.push_back(translation.text());
    return;
  } catch (const OutOfMemory&) {
    if (sources.size() == 1) {
      texts.emplace_back();
      return;
    }
  }
  const std::size_t half = sources.size() / 2;
  translate_in_parts(translator, sources.first(half), texts);
  translate_in_parts(translator, sources.subspan(half), texts);
}

}  // namespace

std::vector<std::string> translate_all(const TranslationSystem& system, std::span<const std::string> sources,
                                       std::int64_t beam, std::int64_t max_length) {
  TranslatorOptions options;
  options.search.beam = beam;
  options.search.max_length =
      max_length > 0 ? max_length : static_cast<std::int64_t>(system.text.steps.value_or(0));
  const Translator translator(*system.model, system.config, system.text, options);
  std::vector<std::string> texts;
  texts.reserve(sources.size());
  translate_in_parts(translator, sources, texts);
  return texts;
}

TranslationQuality score_translations(const TextProcessing& text, std::span<const std::string> translations,
                                      const Corpus& corpus) {
  std::vector<std::string> references;
  double book_sum = 0.0;
  for (std::size_t i = 0; i < corpus.pairs.size(); ++i) {
    references.push_back(normalised_target(text, corpus.pairs[i].target));
    book_sum += book_bleu(translations[i], references.back(), book_ngrams).score;
  }
  const CorpusBleu bleu = corpus_bleu(translations, references);
  return {bleu.score, book_sum / static_cast<double>(std::max<std::size_t>(1, corpus.pairs.size())),
          bleu.signature, chrf(translations, references).score};
}

TranslationQuality translation_quality(const TranslationSystem& system, const Corpus& corpus,
                                       std::int64_t beam, std::int64_t max_length) {
  return score_translations(system.text, translate_all(system, sources_of(corpus), beam, max_length), corpus);
}

ValidationFigures validation_figures(const TranslationSystem& system, const PreparedCorpus& held_out,
                                     const ExperimentConfig& config, const BatchOptions& batches) {
  ValidationFigures figures{evaluate_loss(*system.model, held_out.encoded, batches), 0.0, {}};
  figures.perplexity = std::exp(figures.loss.per_token());
  if (config.validation.bleu) {
    figures.translation =
        translation_quality(system, held_out.corpus, config.validation.beam, config.report.max_length);
  }
  return figures;
}

double value_of(const ValidationFigures& figures, ValidationConfig::Metric metric) {
  switch (metric) {
    case ValidationConfig::Metric::loss:
      return figures.loss.per_token();
    case ValidationConfig::Metric::perplexity:
      return figures.perplexity;
    case ValidationConfig::Metric::bleu:
      return figures.translation.value_or(TranslationQuality{}).bleu;
    case ValidationConfig::Metric::chrf:
      return figures.translation.value_or(TranslationQuality{}).chrf;
  }
  return 0.0;
}

std::vector<Sample> make_samples(const TranslationSystem& system, const PreparedData& data,
                                 const ReportConfig& config) {
  std::vector<Sample> samples;
  for (const std::string& source : config.samples)
    samples.push_back({source, {}, reference_for(system, data, source), {}});
  const Corpus& corpus = sample_corpus(data);
  const auto count = std::min(corpus.pairs.size(), static_cast<std::size_t>(config.sample_count));
  for (std::size_t i = 0; i < count; ++i) {
    // Spread over the corpus: neighbours are often alike.
    const SentencePair& pair = corpus.pairs[i * corpus.pairs.size() / count];
    samples.push_back({pair.source, {}, normalised_target(system.text, pair.target), {}});
  }
  std::vector<std::string> sources;
  sources.reserve(samples.size());
  for (const Sample& sample : samples) sources.push_back(sample.source);
  const std::vector<std::string> texts = translate_all(system, sources, config.beam, config.max_length);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i].translation = texts[i];
    if (!samples[i].reference.empty())
      samples[i].book_bleu = book_bleu(texts[i], samples[i].reference, book_ngrams).score;
  }
  return samples;
}

}  // namespace attn
