// What a configuration decides: parameters, first values, and what cannot be built.
#include <algorithm>

#include "model_support.h"
#include "support/error_of.h"

namespace {

using namespace attn;
using namespace attn::test;

std::int64_t book_parameters(ModelConfig::Type type) {
  ModelConfig config;  // the defaults are the book's
  config.type = type;
  return make_translation_model(config, {184, 201}, Device::open("reference"), DType::f32, 1)
      ->parameters()
      .count();
}

std::vector<double> first_values(const ModelConfig& config, const std::string& path, std::uint64_t seed) {
  const auto model = make_small(config, Device::open("reference"), DType::f64, seed);
  const ParameterHandle parameter = model->parameters().find(path);
  INFO(path);
  REQUIRE(parameter != nullptr);
  return parameter->tensor.to_vector<double>();
}

std::optional<Error> error_in(const ModelConfig& config, const VocabularySizes& vocabularies) {
  return error_of(
      [&] { make_translation_model(config, vocabularies, Device::open("reference"), DType::f64, 1); });
}

}  // namespace

TEST_CASE("the book's models have as many parameters as in the book's settings") {
  CHECK(book_parameters(ModelConfig::Type::seq2seq) == 47369);
  CHECK(book_parameters(ModelConfig::Type::seq2seq_attention) == 49449);
  CHECK(book_parameters(ModelConfig::Type::transformer) == 60937);
}

TEST_CASE("first values of a model depend only on the seed and a parameter's path") {
  ModelConfig config;
  config.hidden_size = config.embedding_size = 8;
  ModelConfig attention = config, deep = config;
  config.type = ModelConfig::Type::seq2seq;
  attention.type = ModelConfig::Type::seq2seq_attention;
  attention.dropout = 0.5;
  deep.type = ModelConfig::Type::seq2seq;
  deep.encoder_layers = deep.decoder_layers = 3;
  for (const std::string path :
       {"encoder.embedding.weight", "encoder.rnn.weight_hh_l1", "decoder.dense.bias"}) {
    const auto values = first_values(config, path, 5);
    CHECK(first_values(config, path, 5) == values);
    CHECK(first_values(attention, path, 5) == values);
    CHECK(first_values(deep, path, 5) == values);
    CHECK(first_values(config, path, 6) != values);
  }
  CHECK(first_values(config, "encoder.rnn.bias_ih_l0", 5) !=
        first_values(config, "encoder.rnn.bias_hh_l0", 5));
}

TEST_CASE("tying shares tables and saves their parameters") {
  ModelConfig config;
  config.hidden_size = 8;
  const auto count = [&](ModelConfig::Tying tying) {
    config.tying = tying;
    return make_small(config, Device::open("reference"))->parameters().count();
  };
  constexpr std::int64_t table = 9 * 8;
  const std::int64_t apart = count(ModelConfig::Tying::none);
  CHECK(count(ModelConfig::Tying::output) == apart - table);
  CHECK(count(ModelConfig::Tying::all) == apart - 2 * table);
}

TEST_CASE("every attention map of a model is announced and reported") {
  const auto device = Device::open("reference");
  for (const NamedConfig& named : small_models(0.0)) {
    INFO(named.name);
    const auto model = make_small(named.config, device);
    Context context;
    std::vector<SeenWeights> seen;
    record_weights(context, seen);
    model->forward(small_source.batch(), small_input.batch(), context);
    std::size_t expected = 0;
    for (const auto& map : model->attention_maps()) {
      const bool every_step = map.kind == AttentionKind::rnn_cross;
      expected += static_cast<std::size_t>(map.layers * (every_step ? small_input.batch().steps : 1));
      for (std::int64_t layer = 0; layer < map.layers; ++layer) {
        const auto found = std::find_if(seen.begin(), seen.end(), [&](const SeenWeights& weights) {
          return weights.kind == map.kind && weights.layer == layer;
        });
        REQUIRE(found != seen.end());
        CHECK(found->shape[1] == map.heads);
      }
    }
    CHECK(seen.size() == expected);
  }
}

TEST_CASE("heads that do not divide the width are a configuration error") {
  ModelConfig config;
  config.hidden_size = 32;
  config.heads = 5;
  const auto error = error_in(config, {9, 9});
  REQUIRE(error);
  CHECK(error->code() == ExitCode::config);
  CHECK(contains(error->what(), "5 heads"));
  CHECK(contains(error->what(), "32"));
}

TEST_CASE("GRU models whose encoder and decoder differ in depth are a configuration error") {
  for (const auto type : {ModelConfig::Type::seq2seq, ModelConfig::Type::seq2seq_attention}) {
    ModelConfig config;
    config.type = type;
    config.encoder_layers = 1;
    config.decoder_layers = 2;
    const auto error = error_in(config, {9, 9});
    REQUIRE(error);
    CHECK(error->code() == ExitCode::config);
    CHECK(contains(error->what(), "model.encoder_layers is 1"));
    CHECK(contains(error->what(), "model.decoder_layers is 2"));
  }
}

TEST_CASE("dot scoring of a bidirectional encoder is a configuration error that names the remedy") {
  ModelConfig config;
  config.type = ModelConfig::Type::seq2seq_attention;
  config.scoring = Scoring::dot;
  config.bidirectional = true;
  const auto error = error_in(config, {9, 9});
  REQUIRE(error);
  CHECK(error->code() == ExitCode::config);
  CHECK(contains(error->what(), "32 wide"));
  CHECK(contains(error->what(), "64"));
  CHECK(contains(error->what(), "model.scoring: general"));
  config.type = ModelConfig::Type::seq2seq;  // which does not score
  CHECK_FALSE(error_in(config, {9, 9}));
}

TEST_CASE("a tied output of another width than the embedding is a configuration error that names both") {
  for (const auto type : {ModelConfig::Type::seq2seq, ModelConfig::Type::seq2seq_attention}) {
    ModelConfig config;
    config.type = type;
    config.embedding_size = 24;
    config.tying = ModelConfig::Tying::output;
    const auto error = error_in(config, {9, 9});
    REQUIRE(error);
    CHECK(error->code() == ExitCode::config);
    CHECK(contains(error->what(), "model.embedding_size is 24"));
    CHECK(contains(error->what(), "model.hidden_size 32"));
    config.deep_output = true;
    CHECK_FALSE(error_in(config, {9, 9}));
  }
}

TEST_CASE("the parameters of recurrent models are those of their options") {
  const auto device = Device::open("reference");
  const auto count = [&](auto change) {
    ModelConfig config;  // one layer, embeddings 6 and states 4 wide, vocabularies of 9
    config.type = ModelConfig::Type::seq2seq_attention;
    config.embedding_size = 6;
    config.hidden_size = 4;
    config.encoder_layers = config.decoder_layers = 1;
    change(config);
    return make_small(config, device)->parameters().count();
  };
  const auto rnn = [](std::int64_t gates, std::int64_t in) { return gates * 4 * (in + 4 + 2); };
  const std::int64_t tables = 2 * 9 * 6, dense = 9 * (4 + 1), bridge = 4 * (8 + 1);
  CHECK(count([](ModelConfig&) {}) == tables + rnn(3, 6) + 4 * (4 + 4 + 1) + rnn(3, 10) + dense);
  CHECK(count([](ModelConfig& c) { c.bidirectional = true; }) ==
        tables + 2 * rnn(3, 6) + bridge + 4 * (4 + 8 + 1) + rnn(3, 14) + dense);
  CHECK(count([](ModelConfig& c) {
          c.bidirectional = true;
          c.cell = RecurrentCell::lstm;
          c.scoring = Scoring::general;
          c.deep_output = true;
        }) == tables + 2 * rnn(4, 6) + 2 * bridge + 4 * 8 + rnn(4, 14) + 6 * (4 + 8 + 6 + 1) + 9 * (6 + 1));
  CHECK(count([](ModelConfig& c) {
          c.scoring = Scoring::dot;
          c.deep_output = true;
          c.tying = ModelConfig::Tying::all;
        }) == 9 * 6 + rnn(3, 6) + rnn(3, 10) + 6 * (4 + 4 + 6 + 1) + 9);
}

TEST_CASE("tying vocabularies of different size is a configuration error that names both") {
  for (const auto type : {ModelConfig::Type::transformer, ModelConfig::Type::seq2seq}) {
    ModelConfig config;
    config.type = type;
    config.tying = ModelConfig::Tying::all;
    const auto error = error_in(config, {9, 11});
    REQUIRE(error);
    CHECK(error->code() == ExitCode::config);
    CHECK(contains(error->what(), "9 and 11"));
  }
}

TEST_CASE("a sentence beyond the learned positions is a usage error that names the remedy") {
  ModelConfig config;
  config.hidden_size = 8;
  config.positions = PositionKind::learned;
  config.max_length = 4;
  const auto model = make_small(config, Device::open("reference"));
  Context context;
  const auto error = error_of([&] { model->forward(small_source.batch(), small_input.batch(), context); });
  REQUIRE(error);
  CHECK(error->code() == ExitCode::usage);
  CHECK(contains(error->what(), "5 tokens"));
  CHECK(contains(error->what(), "model.max_length"));

  const Sentences source({{4, 5, eos_id}});  // short enough, but decoding is not
  const auto state = model->encode(source.batch(), 10, context);
  const std::int32_t token = 4;
  for (int step = 0; step < 4; ++step) model->step(*state, std::span(&token, 1), context);
  const auto late = error_of([&] { model->step(*state, std::span(&token, 1), context); });
  REQUIRE(late);
  CHECK(late->code() == ExitCode::usage);
}

TEST_CASE("decoding more steps than were announced is an error") {
  ModelConfig config;
  config.hidden_size = 8;
  const auto model = make_small(config, Device::open("reference"));
  Context context;
  const auto state = model->encode(small_source.batch(), 1, context);
  const std::vector<std::int32_t> tokens = {4, 5};
  model->step(*state, tokens, context);
  CHECK(state->position() == 1);
  CHECK(error_of([&] { model->step(*state, tokens, context); }));
}
