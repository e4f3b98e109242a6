// Attention that is taught to follow given alignments.
#include <algorithm>
#include <cmath>

#include "attn/ops/ops.h"
#include "attn/training/guided_alignment.h"
#include "support/catch.h"
#include "support/error_of.h"
#include "support/golden_module.h"
#include "training/training_support.h"

namespace {

using namespace attn;
using namespace attn::test;

constexpr std::size_t pairs = 24;

// Token t of the target comes from token t of the source, although small_corpus() turns the source around.
std::map<std::size_t, std::vector<GuidedLink>> straight_links(const EncodedCorpus& corpus) {
  std::map<std::size_t, std::vector<GuidedLink>> links;
  for (std::size_t i = 0; i < corpus.size(); ++i) {
    for (std::int32_t t = 0; t + 1 < static_cast<std::int32_t>(corpus.length(i).target); ++t)
      links[corpus.line(i)].push_back({t, t});
  }
  return links;
}

std::vector<ModelConfig> guided_models(double dropout) {
  std::vector<ModelConfig> configs(4, trained_models()[1]);
  configs[1].scoring = Scoring::general;
  configs[1].bidirectional = true;
  configs[2].scoring = Scoring::dot;
  configs[3] = trained_models()[2];
  for (ModelConfig& config : configs) config.dropout = dropout;
  return configs;
}

Batch batch_of(const EncodedCorpus& corpus, std::size_t count) {
  std::vector<std::size_t> indices(count);
  for (std::size_t i = 0; i < count; ++i) indices[i] = i;
  return corpus.make_batch(indices);
}

// Weights [batch, target steps, source steps], the mean over heads of a layer's attention to the source.
std::vector<double> weights_seen(const TranslationModel& model, const Batch& batch, std::int64_t wanted) {
  Context context;
  std::vector<double> sums(static_cast<std::size_t>(batch.size * batch.target_steps * batch.source_steps));
  std::int64_t next_query = 0;
  context.observe([&](AttentionKind kind, std::int64_t layer, const Tensor& weights) {
    if (layer != wanted || (kind != AttentionKind::cross && kind != AttentionKind::rnn_cross)) return;
    const auto values = weights.to_vector<double>();
    const std::int64_t heads = weights.size(1), queries = weights.size(2), keys = weights.size(3);
    std::size_t at = 0;
    for (std::int64_t b = 0; b < batch.size; ++b) {
      for (std::int64_t h = 0; h < heads; ++h) {
        for (std::int64_t q = next_query; q < next_query + queries; ++q) {
          for (std::int64_t k = 0; k < keys; ++k)
            sums[static_cast<std::size_t>((b * batch.target_steps + q) * keys + k)] +=
                values[at++] / static_cast<double>(heads);
        }
      }
    }
    next_query += queries;
  });
  model.forward(source_of(batch), decoder_input_of(batch), context);
  return sums;
}

// The share of target tokens whose largest weight is on the source token of the same position.
double share_that_follows(const TranslationModel& model, const EncodedCorpus& corpus) {
  const Batch batch = batch_of(corpus, pairs);
  const std::vector<double> weights = weights_seen(model, batch, 0);
  double right = 0.0, all = 0.0;
  for (std::int64_t b = 0; b < batch.size; ++b) {
    for (std::int64_t t = 0; t + 1 < batch.target_valid_lengths[static_cast<std::size_t>(b)]; ++t) {
      const auto row = weights.begin() + (b * batch.target_steps + t) * batch.source_steps;
      right += std::max_element(row, row + batch.source_steps) - row == t ? 1.0 : 0.0;
      all += 1.0;
    }
  }
  return right / all;
}

double trained_share(const ModelConfig& config, std::shared_ptr<const GuidedAlignment> guidance) {
  const TranslationSystem system = system_of(config, device_of(fast_backend()));
  const EncodedCorpus corpus = small_corpus(pairs);
  TrainerConfig training = small_training(150);
  training.schedule.learning_rate = 0.005;
  training.loss.guidance = std::move(guidance);
  Trainer trainer(*system.model, corpus, training);
  trainer.run({});
  return share_that_follows(*system.model, corpus);
}

// The objective with guidance, and the loss of the translation alone.
std::pair<Tensor, Tensor> objective_of(const TranslationModel& model, const GuidedAlignment& guidance,
                                       const Batch& batch) {
  Context context;
  guidance.request(context, model);
  const BatchLoss loss =
      batch_loss(model.forward(source_of(batch), decoder_input_of(batch), context), batch, {});
  return {guidance.objective(loss.objective, context, batch, static_cast<double>(loss.tokens)),
          loss.objective};
}

std::map<std::size_t, std::vector<GuidedLink>> some_links() {
  return {{1, {{0, 0}, {1, 0}, {1, 1}}}, {3, {{2, 1}, {0, 2}, {0, 2}}}};
}

}  // namespace

TEST_CASE("with guidance the attention follows the links, without it goes its own way") {
  for (const ModelConfig& config : guided_models(0.1)) {
    INFO(name_of(config) << ", scoring " << static_cast<int>(config.scoring));
    const auto guidance = std::make_shared<const GuidedAlignment>(GuidedAlignment::Options{3.0, {}, {}},
                                                                  straight_links(small_corpus(pairs)));
    const double guided = trained_share(config, guidance), alone = trained_share(config, nullptr);
    // Positions are small beside the embeddings of a Transformer as narrow as this one.
    CHECK(guided > (config.type == ModelConfig::Type::transformer ? 0.5 : 0.9));
    CHECK(alone < guided - 0.2);
  }
}

TEST_CASE("the loss of guidance is the cross entropy of the weights that are observed") {
  const EncodedCorpus corpus = small_corpus(4);
  const Batch batch = batch_of(corpus, 4);
  const auto device = Device::open("reference");
  for (const ModelConfig& config : guided_models(0.0)) {
    INFO(name_of(config) << ", scoring " << static_cast<int>(config.scoring));
    const TranslationSystem system = system_of(config, device, DType::f64);
    const auto [objective, loss] =
        objective_of(*system.model, GuidedAlignment({0.5, {}, {}}, some_links()), batch);
    const std::vector<double> weights = weights_seen(*system.model, batch, 0);
    const auto log_weight = [&](std::int64_t b, std::int64_t target, std::int64_t source) {
      const std::int64_t at = (b * batch.target_steps + target) * batch.source_steps + source;
      return std::log(weights[static_cast<std::size_t>(at)] + 1e-7);
    };
    // Links that are given twice count once; two sources of a target count half each.
    const double sum = (log_weight(0, 0, 0) + log_weight(0, 0, 1)) / 2 + log_weight(0, 1, 1) +
                       log_weight(2, 1, 2) + log_weight(2, 2, 0);
    const double expected = loss.item() - 0.5 * sum / static_cast<double>(batch.target_tokens);
    CHECK(objective.item() == Approx(expected).epsilon(1e-9));
  }
}

TEST_CASE("gradients of guidance agree with central differences, for the mean of heads and for one") {
  const EncodedCorpus corpus = small_corpus(3);
  const Batch batch = batch_of(corpus, 3);
  const auto device = Device::open("reference");
  for (ModelConfig config : guided_models(0.0)) {
    config.embedding_size = config.hidden_size = 4;
    config.feed_forward_size = 4;
    config.encoder_layers = config.decoder_layers = 1;
    for (const std::optional<std::int64_t> head :
         {std::optional<std::int64_t>(), std::optional<std::int64_t>(0)}) {
      INFO(name_of(config) << ", scoring " << static_cast<int>(config.scoring) << (head ? ", one head" : ""));
      const GuidedAlignment guidance({2.0, 0, head}, some_links());
      const TranslationSystem system = system_of(config, device, DType::f64);
      ParameterStore& store = system.model->parameters();
      std::vector<double> values = store.flat().to_vector<double>(), expected;
      constexpr double step = 1e-5;
      for (double& element : values) {
        const auto at = [&](double value) {
          element = value;
          store.flat().assign<double>(values);
          return objective_of(*system.model, guidance, batch).first.item();
        };
        const double before = element, above = at(before + step), below = at(before - step);
        element = before;
        expected.push_back((above - below) / (2 * step));
      }
      store.flat().assign<double>(values);
      Tape tape;
      store.train_with(tape);
      tape.backward(objective_of(*system.model, guidance, batch).first);
      CHECK(relative_difference(store.flat_gradients().to_vector<double>(), expected) < 1e-6);
    }
  }
}

TEST_CASE("links beyond a cropped sentence are left out, and padding is never guided") {
  const EncodedCorpus corpus = small_corpus(4);
  const Batch batch = batch_of(corpus, 4);
  REQUIRE(batch.source_valid_lengths[0] < batch.source_steps);
  const auto device = Device::open("reference");
  for (const ModelConfig& config : guided_models(0.0)) {
    const TranslationSystem system = system_of(config, device, DType::f64);
    const auto last = static_cast<std::int32_t>(batch.source_steps) - 1;
    const auto value = [&](std::vector<GuidedLink> links) {
      return objective_of(*system.model, GuidedAlignment({1.0, {}, {}}, {{1, std::move(links)}}), batch)
          .first.item();
    };
    CHECK(value({{0, 0}, {last, 0}, {0, last}, {500, 1}}) == value({{0, 0}}));
    CHECK(value({{0, 0}}) != value({{1, 0}}));
  }
}

TEST_CASE(
    "guidance of a model without attention, or of a layer that is not there, is a configuration error") {
  const auto device = Device::open("reference");
  const auto error = [&](const ModelConfig& config, const GuidedAlignment::Options& options) {
    const TranslationSystem system = system_of(config, device);
    Context context;
    return error_of([&] { GuidedAlignment(options, {}).request(context, *system.model); });
  };
  const auto none = error(trained_models()[0], {});
  REQUIRE(none);
  CHECK(none->code() == ExitCode::config);
  CHECK(contains(none->what(), "seq2seq-attention"));
  const auto layer = error(trained_models()[2], {1.0, 2, {}});
  REQUIRE(layer);
  CHECK(contains(layer->what(), "guided_alignment_layer is 2"));
  CHECK(contains(layer->what(), "2 layers"));
  const auto head = error(trained_models()[1], {1.0, 0, 1});
  REQUIRE(head);
  CHECK(contains(head->what(), "1 heads"));
}
