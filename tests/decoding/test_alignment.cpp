#include <array>
#include <cmath>

#include "attn/decoding/alignment.h"
#include "attn/decoding/translator.h"
#include "decoding/models.h"
#include "support/catch.h"
#include "support/error_of.h"

namespace {

using namespace attn;
using namespace attn::test;
using Links = std::vector<AlignmentLink>;

// Attention that is known: two layers with two heads. Sentence b, layer l, head h, query q attend to key k in
// the proportion 1 + (7 b + 5 l + 3 h + 2 q + k) % 4.
class KnownAttention final : public TranslationModel {
 public:
  explicit KnownAttention(std::shared_ptr<Device> known_device) : device_(std::move(known_device)) {}

  static double weight(std::int64_t b, std::int64_t layer, std::int64_t head, std::int64_t query,
                       std::int64_t key, std::int64_t keys) {
    double total = 0.0;
    for (std::int64_t k = 0; k < keys; ++k) total += proportion(b, layer, head, query, k);
    return proportion(b, layer, head, query, key) / total;
  }

  Logits forward(const TokenBatch& source, const TokenBatch& decoder_input, Context& context) const override {
    for (std::int64_t layer = 0; layer < 2; ++layer) {
      // Something else that an observer must not take.
      context.report(AttentionKind::decoder_self, layer, maps(source.size, layer, 3, 3));
      context.report(AttentionKind::cross, layer,
                     maps(source.size, layer, decoder_input.steps, source.steps));
    }
    return {};
  }
  std::unique_ptr<DecoderState> encode(const TokenBatch&, std::int64_t, Context&) const override {
    return nullptr;
  }
  Tensor step(DecoderState&, std::span<const std::int32_t>, Context&) const override { return {}; }
  std::vector<AttentionMap> attention_maps() const override {
    return {{AttentionKind::encoder_self, 5, 7}, {AttentionKind::cross, 2, 2}};
  }

 private:
  static double proportion(std::int64_t b, std::int64_t layer, std::int64_t head, std::int64_t query,
                           std::int64_t key) {
    return static_cast<double>(1 + (7 * b + 5 * layer + 3 * head + 2 * query + key) % 4);
  }

  Tensor maps(std::int64_t batch, std::int64_t layer, std::int64_t queries, std::int64_t keys) const {
    std::vector<double> values;
    for (std::int64_t b = 0; b < batch; ++b) {
      for (std::int64_t head = 0; head < 2; ++head) {
        for (std::int64_t query = 0; query < queries; ++query) {
          for (std::int64_t key = 0; key < keys; ++key)
            values.push_back(weight(b, layer, head, query, key, keys));
        }
      }
    }
    return Tensor::from<double>(device_, std::span<const double>(values), Shape{batch, 2, queries, keys});
  }

  std::shared_ptr<Device> device_;
};

// Two sources of 3 and 2 tokens and their <eos>; targets of 2 and 3 tokens.
const Sources sources({{4, 5, 6, 3}, {7, 8, 3}});
const std::vector<std::int32_t> source_tokens = {3, 2};
const std::vector<std::vector<std::int32_t>> targets = {{4, 5}, {6, 7, 8}};

std::vector<AlignmentMatrix> known_weights(const AlignmentOptions& options,
                                           const std::vector<bool>& finished = {true, true}) {
  const KnownAttention model(Device::open("reference"));
  return attention_weights(model, sources.batch(), source_tokens, targets, finished, options);
}

// The mean over the layers and heads given, for target t that query t + later looks for.
void check_weights(const std::vector<AlignmentMatrix>& found, const std::vector<std::int64_t>& layers,
                   const std::vector<std::int64_t>& heads, std::int64_t later) {
  REQUIRE(found.size() == 2);
  for (std::size_t b = 0; b < 2; ++b) {
    REQUIRE(found[b].targets == targets[b].size());
    REQUIRE(found[b].sources == static_cast<std::size_t>(source_tokens[b]));
    for (std::size_t t = 0; t < found[b].targets; ++t) {
      for (std::size_t s = 0; s < found[b].sources; ++s) {
        double expected = 0.0;
        for (const auto layer : layers) {
          for (const auto head : heads) {
            expected += KnownAttention::weight(static_cast<std::int64_t>(b), layer, head,
                                               static_cast<std::int64_t>(t) + later,
                                               static_cast<std::int64_t>(s), sources.steps);
          }
        }
        expected /= static_cast<double>(layers.size() * heads.size());
        CHECK(found[b].row(t)[s] == Approx(expected));
      }
    }
  }
}

const AlignmentMatrix hand_made{3, 2, {0.6, 0.3, 0.1, 0.5, 0.4, 0.4}};

}  // namespace

TEST_CASE("weights are the mean over the layers and heads asked for, without <eos> and padding") {
  check_weights(known_weights({}), {0, 1}, {0, 1}, 0);
  AlignmentOptions options;
  options.layer = 1;
  check_weights(known_weights(options), {1}, {0, 1}, 0);
  options.head = 0;
  check_weights(known_weights(options), {1}, {0}, 0);
  options.layer.reset();
  options.head = 1;
  check_weights(known_weights(options), {0, 1}, {1}, 0);
}

TEST_CASE("shifted weights are those of the query that has read the token") {
  AlignmentOptions options;
  options.shifted = true;
  check_weights(known_weights(options), {0, 1}, {0, 1}, 1);
  // After the last token of an unfinished target there is no query, so that its own stands in.
  const auto found = known_weights(options, {false, true});
  const auto plain = known_weights({}), shifted = known_weights(options);
  CHECK(found[1] == shifted[1]);
  const auto equal = [](std::span<const double> a, std::span<const double> b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  };
  CHECK(equal(found[0].row(0), shifted[0].row(0)));
  CHECK(equal(found[0].row(1), plain[0].row(1)));
  CHECK_FALSE(equal(found[0].row(1), shifted[0].row(1)));
}

TEST_CASE("a layer or head that the model has not is a usage error that says which there are") {
  const KnownAttention model(Device::open("reference"));
  AlignmentOptions options;
  options.layer = 2;
  const auto layer_error = error_of([&] { check(options, model); });
  REQUIRE(layer_error);
  CHECK(layer_error->code() == ExitCode::usage);
  CHECK(contains(layer_error->what(), "no layer 2"));
  CHECK(contains(layer_error->what(), "layers 0 to 1"));
  options.layer = 1;
  options.head = -1;
  const auto head_error = error_of([&] { check(options, model); });
  REQUIRE(head_error);
  CHECK(contains(head_error->what(), "no head -1"));
  for (const double threshold : {-0.1, 1.5, std::nan("")}) {
    AlignmentOptions other;
    other.threshold = threshold;
    CHECK(error_of([&] { check(other, model); }));
  }
}

TEST_CASE("a hard link goes to the largest weight, the first of equal ones") {
  CHECK(hard_links(hand_made) == Links{{0, 0}, {1, 1}, {0, 2}});
  CHECK(hard_links({2, 0, {}}).empty());
  CHECK(hard_links({0, 2, {}}).empty());
  CHECK(hard_links({2, 2, {0.0, 0.0, 0.0, 0.1}}) == Links{{1, 1}});
}

TEST_CASE("a threshold takes all weights that reach it, and 0 takes all pairs") {
  CHECK(threshold_links(hand_made, 0.4) == Links{{0, 0}, {1, 1}, {0, 2}, {1, 2}});
  CHECK(threshold_links(hand_made, 0.55) == Links{{0, 0}});
  CHECK(threshold_links(hand_made, 1.0).empty());
  CHECK(threshold_links(hand_made, 0.0).size() == 6);
  AlignmentOptions options;
  options.kind = AlignmentKind::threshold;
  options.threshold = 0.55;
  CHECK(links_of(hand_made, options) == Links{{0, 0}});
  options.kind = AlignmentKind::soft;
  CHECK(links_of(hand_made, options) == hard_links(hand_made));
}

TEST_CASE("links are written source before target, weights with four digits") {
  CHECK(to_pharaoh(Links{{2, 0}, {0, 1}}) == "2-0 0-1");
  CHECK(to_pharaoh(Links{}).empty());
  CHECK(to_weighted_pharaoh({1, 3, {0.98764, 0.01, 0.0099}}) == "0-0:0.9876 1-0:0.0100");
}

TEST_CASE("alignments do not depend on the size of the batches, whatever is aligned how") {
  TextProcessing text;
  const std::vector<std::string> letters = {"a", "b", "c", "d", "e"};
  text.source_vocabulary = text.target_vocabulary = Vocabulary::from_tokens(letters);
  const std::vector<std::string> lines = {"a b c", "", "d", "e  e e d c b a", "zzz a.", "b", "c d e a"};
  for (const auto& device : decoding_devices()) {
    for (const std::size_t type : {1, 2}) {
      const ModelConfig config = small_configs()[type];
      const auto model = make_small_model(config, device);
      for (const AlignmentUnit unit : {AlignmentUnit::token, AlignmentUnit::word}) {
        for (const bool shifted : {false, true}) {
          TranslatorOptions options;
          options.alignments = AlignmentOptions{AlignmentKind::soft, unit, 0.0, {}, {}, shifted};
          options.search.beam = options.search.n_best = 2;
          const auto together = Translator(*model, config, text, options).translate(lines);
          options.batch_size = 1;
          const auto alone = Translator(*model, config, text, options).translate(lines);
          for (std::size_t i = 0; i < lines.size(); ++i) {
            REQUIRE(together[i].best.size() == alone[i].best.size());
            for (std::size_t k = 0; k < alone[i].best.size(); ++k) {
              const TranslatedText &a = together[i].best[k], &b = alone[i].best[k];
              CHECK(a.alignment == b.alignment);
              REQUIRE(a.alignment_weights.weights.size() == b.alignment_weights.weights.size());
              for (std::size_t w = 0; w < a.alignment_weights.weights.size(); ++w) {
                CHECK(std::abs(a.alignment_weights.weights[w] - b.alignment_weights.weights[w]) < 1e-6);
              }
              // Every target has one link.
              REQUIRE(a.alignment.size() == a.alignment_weights.targets);
              for (std::size_t t = 0; t < a.alignment.size(); ++t)
                CHECK(a.alignment[t].second == static_cast<std::int64_t>(t));
            }
          }
        }
      }
    }
  }
}

TEST_CASE("a translation that is given is aligned as the same translation that was found") {
  TextProcessing text;
  const std::vector<std::string> letters = {"a", "b", "c", "d", "e"};
  text.source_vocabulary = text.target_vocabulary = Vocabulary::from_tokens(letters);
  const ModelConfig config = small_configs()[2];
  const auto model = make_small_model(config, Device::open("reference"));
  favour(*model, Vocabulary::eos, 2.0);
  const std::vector<std::string> lines = {"a b c", "d", "e e d c b a", "c d e a"};
  for (const bool shifted : {false, true}) {
    TranslatorOptions options;
    options.alignments = AlignmentOptions{AlignmentKind::soft, AlignmentUnit::word, 0.0, 1, 0, shifted};
    const Translator translator(*model, config, text, options);
    const auto translations = translator.translate(lines);
    std::vector<std::string> texts;
    for (const Translation& translation : translations) texts.push_back(translation.text());
    const auto scored = translator.score(lines, texts);
    std::size_t compared = 0;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const TranslatedText& best = translations[i].best.front();
      if (!best.hypothesis.finished || text.target_vocabulary.encode(best.tokens) != best.hypothesis.tokens)
        continue;
      ++compared;
      CHECK(scored[i].alignment == best.alignment);
      REQUIRE(scored[i].alignment_weights.weights.size() == best.alignment_weights.weights.size());
      for (std::size_t w = 0; w < best.alignment_weights.weights.size(); ++w) {
        CHECK(scored[i].alignment_weights.weights[w] ==
              Approx(best.alignment_weights.weights[w]).margin(1e-9));
      }
    }
    CHECK(compared > 0);
  }
}
