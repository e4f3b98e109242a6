#include <array>
#include <cmath>
#include <set>

#include "attn/decoding/forced.h"
#include "attn/decoding/translator.h"
#include "decoding/models.h"
#include "support/catch.h"
#include "support/error_of.h"

namespace {

using namespace attn;
using namespace attn::test;

// "a b c d e" are ids 4 to 8 on both sides.
TextProcessing letters() {
  TextProcessing text;
  const std::vector<std::string> tokens = {"a", "b", "c", "d", "e"};
  text.source_vocabulary = text.target_vocabulary = Vocabulary::from_tokens(tokens);
  return text;
}

const std::vector<std::string> lines = {"a b c", "",           "d", "e e e d c b a",
                                        "zzz a", " \xC2\xA0 ", "b", "c d e a"};

std::vector<std::string> texts_of(const std::vector<Translation>& translations) {
  std::vector<std::string> texts;
  for (const Translation& translation : translations) texts.push_back(translation.text());
  return texts;
}

}  // namespace

TEST_CASE("there is one translation for each line, in order, and blank lines stay blank") {
  const TextProcessing text = letters();
  for (const ModelConfig& config : small_configs()) {
    const auto model = make_small_model(config, Device::open("reference"));
    const Translator translator(*model, config, text);
    const auto translations = translator.translate(lines, 10);
    REQUIRE(translations.size() == lines.size());
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const Translation& translation = translations[i];
      CHECK(translation.line == 10 + i);
      CHECK(translation.blank == (i == 1 || i == 5));
      if (translation.blank) {
        CHECK(translation.text().empty());
        continue;
      }
      // The same as translated by hand.
      const Sources source({translator.encode_source(lines[i]).ids});
      const Hypothesis expected = greedy_search(*model, source.batch(), {}).front();
      CHECK(translation.best.front().hypothesis.tokens == expected.tokens);
      const auto tokens = text.target_vocabulary.decode(expected.tokens);
      CHECK(translation.text() == text.target_tokenizer.detokenize(tokens));
    }
    CHECK(translations[4].source.ids == std::vector<std::int32_t>{0, 4, 3});
  }
}

TEST_CASE("translations do not depend on the size of the batches") {
  const TextProcessing text = letters();
  for (const auto& device : decoding_devices()) {
    for (const ModelConfig& config : small_configs()) {
      const auto model = make_small_model(config, device);
      for (const std::int64_t beam : {1, 3}) {
        TranslatorOptions options;
        options.search.beam = options.search.n_best = beam;
        options.batch_size = 1;
        const auto alone = Translator(*model, config, text, options).translate(lines);
        for (const std::size_t size : {2, 7}) {
          options.batch_size = size;
          const auto together = Translator(*model, config, text, options).translate(lines);
          CHECK(texts_of(together) == texts_of(alone));
          for (std::size_t i = 0; i < lines.size(); ++i) {
            for (std::size_t k = 0; k < alone[i].best.size(); ++k) {
              CHECK(std::abs(together[i].best[k].hypothesis.score - alone[i].best[k].hypothesis.score) <
                    1e-6);
            }
          }
        }
        options.batch_size.reset();
        options.batch_tokens = 9;
        CHECK(texts_of(Translator(*model, config, text, options).translate(lines)) == texts_of(alone));
        options.batch_tokens = 100000;
        CHECK(texts_of(Translator(*model, config, text, options).translate(lines)) == texts_of(alone));
      }
    }
  }
}

TEST_CASE("a sampled translation follows the number of its line") {
  const TextProcessing text = letters();
  const ModelConfig config = small_configs()[2];
  const auto model = make_small_model(config, Device::open("reference"));
  TranslatorOptions options;
  options.search.sampling = Sampling{2.0, 0, 1};
  const std::vector<std::string> same(6, "a b c d");
  const Translator translator(*model, config, text, options);
  const auto all = texts_of(translator.translate(same));
  CHECK(std::set<std::string>(all.begin(), all.end()).size() > 1);
  options.batch_size = 2;
  CHECK(texts_of(Translator(*model, config, text, options).translate(same)) == all);
  const std::vector<std::string> last(2, "a b c d");
  CHECK(texts_of(translator.translate(last, 5)) == std::vector<std::string>(all.begin() + 4, all.end()));
}

TEST_CASE("a line that is too long is cropped, keeps its end symbol and is told about") {
  TextProcessing text = letters();
  text.max_length = 4;
  const ModelConfig config = small_configs()[1];
  const auto model = make_small_model(config, Device::open("reference"));
  const Translator translator(*model, config, text);
  const auto translations = translator.translate(lines, 1);
  const EncodedLine& source = translations[3].source;
  CHECK(source.ids == std::vector<std::int32_t>{8, 8, 8, 3});
  CHECK(source.cropped());
  CHECK_FALSE(translations[0].source.cropped());
  const auto warning = cropping_warning(source, "in.txt", translations[3].line, "source");
  REQUIRE(warning);
  CHECK(contains(*warning, "in.txt:4:"));
  CHECK(contains(*warning, "7 tokens"));
  CHECK(contains(*warning, "cropped to 3"));
  CHECK_FALSE(cropping_warning(translations[0].source, "in.txt", 1, "source"));
}

TEST_CASE("a table of learned positions limits source and translation") {
  const TextProcessing text = letters();
  ModelConfig config = small_configs()[3];
  config.max_length = 5;
  const auto model = make_small_model(config, Device::open("reference"));
  favour(*model, Vocabulary::eos, -100.0);
  for (const std::int64_t wanted : {0, 50}) {
    TranslatorOptions options;
    options.search.max_length = wanted;
    const auto translation = Translator(*model, config, text, options).translate(lines)[3];
    CHECK(translation.source.ids.size() == 5);
    CHECK(translation.source.cropped());
    CHECK(translation.best.front().hypothesis.tokens.size() == 5);
  }
}

TEST_CASE("with steps every source is cut or padded to exactly so many, as in the book") {
  TextProcessing text = letters();
  text.steps = 5;
  ModelConfig config = small_configs()[0];
  config.encode_padding = true;
  const auto model = make_small_model(config, Device::open("reference"));
  favour(*model, Vocabulary::eos, -100.0);
  const Translator translator(*model, config, text);
  const auto translations = translator.translate(lines);
  CHECK(translations[3].source.ids == std::vector<std::int32_t>{8, 8, 8, 7, 6});
  CHECK(translations[3].source.cropped());
  CHECK(translator.encode_source("a b c d e").ids == std::vector<std::int32_t>{4, 5, 6, 7, 8});
  CHECK_FALSE(translator.encode_source("a b c d e").cropped());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (translations[i].blank) continue;
    CHECK(translations[i].best.front().hypothesis.tokens.size() == 5);
    std::vector<std::int32_t> ids = translations[i].source.ids;
    const std::vector<std::int32_t> length = {static_cast<std::int32_t>(ids.size())};
    ids.resize(5, Vocabulary::pad);
    SearchOptions options;
    options.max_length = 5;
    CHECK(translations[i].best.front().hypothesis.tokens ==
          greedy_search(*model, {1, 5, ids, length}, options).front().tokens);
  }
}

TEST_CASE("a model that encodes padding needs a fixed number of steps") {
  const TextProcessing text = letters();
  ModelConfig config = small_configs()[0];
  config.encode_padding = true;
  const auto model = make_small_model(config, Device::open("reference"));
  const auto error = error_of([&] { Translator(*model, config, text); });
  REQUIRE(error);
  CHECK(error->code() == ExitCode::config);
}

TEST_CASE("scores of given translations are sums over their tokens, whatever the batches") {
  const TextProcessing text = letters();
  const std::vector<std::string> targets = {"a", "b c", "", "e e e e e e e e", "d", "zzz", "c", "a b"};
  for (const auto& device : decoding_devices()) {
    for (const ModelConfig& config : small_configs()) {
      const auto model = make_small_model(config, device);
      TranslatorOptions options;
      options.batch_size = 3;
      const Translator translator(*model, config, text, options);
      const auto scored = translator.score(lines, targets, 1);
      REQUIRE(scored.size() == lines.size());
      for (std::size_t i = 0; i < lines.size(); ++i) {
        const Sources source({translator.encode_source(lines[i]).ids});
        const std::vector<std::vector<std::int32_t>> labels = {translator.encode_target(targets[i]).ids};
        // Step by step.
        Context context;
        const auto state = model->encode(source.batch(), 20, context);
        double sum = 0.0;
        std::int32_t last = Vocabulary::bos;
        for (const std::int32_t label : labels.front()) {
          const auto logits =
              model->step(*state, std::vector<std::int32_t>{last}, context).to_vector<double>();
          double total = 0.0;
          for (const double logit : logits) total += std::exp(logit);
          sum += logits[static_cast<std::size_t>(label)] - std::log(total);
          last = label;
        }
        CHECK(scored[i].line == i + 1);
        CHECK(std::abs(scored[i].log_probability - sum) < 1e-9);
        CHECK(scored[i].token_log_probabilities.size() == labels.front().size());
      }
    }
  }
}

TEST_CASE("scoring with unequal line counts is an error with both counts") {
  const TextProcessing text = letters();
  const ModelConfig config = small_configs()[0];
  const auto model = make_small_model(config, Device::open("reference"));
  const std::vector<std::string> targets(3);
  const auto error = error_of([&] { Translator(*model, config, text).score(lines, targets); });
  REQUIRE(error);
  CHECK(error->code() == ExitCode::input_data);
  CHECK(contains(error->what(), "8 source lines"));
  CHECK(contains(error->what(), "3 target lines"));
}

TEST_CASE("every target token is aligned with the source token that it attends to most") {
  const TextProcessing text = letters();
  for (const auto& device : decoding_devices()) {
    for (const std::size_t type : {1, 2, 3}) {
      const ModelConfig config = small_configs()[type];
      const auto model = make_small_model(config, device);
      TranslatorOptions options;
      options.alignments.emplace();
      options.search.beam = options.search.n_best = 2;
      const auto translations = Translator(*model, config, text, options).translate(lines);
      options.batch_size = 1;
      const auto alone = Translator(*model, config, text, options).translate(lines);
      for (std::size_t i = 0; i < lines.size(); ++i) {
        for (std::size_t k = 0; k < translations[i].best.size(); ++k) {
          const TranslatedText& best = translations[i].best[k];
          CHECK(best.alignment == alone[i].best[k].alignment);
          REQUIRE(best.alignment.size() == best.hypothesis.tokens.size());
          for (std::size_t t = 0; t < best.alignment.size(); ++t) {
            CHECK(best.alignment[t].second == static_cast<std::int64_t>(t));
            CHECK(best.alignment[t].first < static_cast<std::int64_t>(translations[i].source.tokens.size()));
          }
        }
      }
      // By hand from the weights of the second line.
      const Translation& translation = translations[0];
      const auto& target = translation.best.front().hypothesis.tokens;
      REQUIRE_FALSE(target.empty());
      const DecoderInput input = make_decoder_input(std::array{target});
      std::vector<double> sums(target.size() * 4);
      std::size_t next = 0;
      Context context;
      context.observe([&](AttentionKind kind, std::int64_t, const Tensor& weights) {
        if (kind != AttentionKind::cross && kind != AttentionKind::rnn_cross) return;
        for (const double weight : weights.to_vector<double>()) sums[next++ % sums.size()] += weight;
      });
      model->forward(Sources({translation.source.ids}).batch(), input.batch(), context);
      for (std::size_t t = 0; t < target.size(); ++t) {
        std::int64_t largest = 0;
        for (std::int64_t s = 1; s < 3; ++s) {
          if (sums[t * 4 + static_cast<std::size_t>(s)] > sums[t * 4 + static_cast<std::size_t>(largest)])
            largest = s;
        }
        CHECK(translation.best.front().alignment[t].first == largest);
      }
    }
  }
}

TEST_CASE("a model without attention cannot align") {
  const TextProcessing text = letters();
  const ModelConfig config = small_configs()[0];
  const auto model = make_small_model(config, Device::open("reference"));
  TranslatorOptions options;
  options.alignments.emplace();
  const auto error = error_of([&] { Translator(*model, config, text, options); });
  REQUIRE(error);
  CHECK(error->code() == ExitCode::usage);
  CHECK(contains(error->what(), "no attention"));
}
