#include "decoding/models.h"

#include <algorithm>

#include "attn/core/error.h"
#include "attn/text/shuffle.h"
#include "attn/text/vocabulary.h"
#include "support/catch.h"

namespace attn::test {

std::vector<std::shared_ptr<Device>> decoding_devices() {
  std::vector<std::shared_ptr<Device>> devices = {Device::open("reference")};
  try {
    devices.push_back(Device::open("eigen"));
  } catch (const Error& error) {
    WARN("not tested: " << error.what());
  }
  return devices;
}

std::vector<ModelConfig> small_configs() {
  std::vector<ModelConfig> configs(4);
  for (ModelConfig& config : configs) {
    config.embedding_size = 6;
    config.hidden_size = 8;
    config.heads = 2;
    config.feed_forward_size = 12;
  }
  configs[0].type = ModelConfig::Type::seq2seq;
  configs[1].type = ModelConfig::Type::seq2seq_attention;
  configs[3].norm = ModelConfig::Norm::pre;
  configs[3].positions = PositionKind::learned;
  configs[3].max_length = 40;
  return configs;
}

std::string name_of(const ModelConfig& config) {
  switch (config.type) {
    case ModelConfig::Type::seq2seq:
      return "seq2seq";
    case ModelConfig::Type::seq2seq_attention:
      return "seq2seq_attention";
    case ModelConfig::Type::transformer:
      return config.norm == ModelConfig::Norm::pre ? "transformer, pre-norm" : "transformer";
  }
  return "?";
}

namespace {

void change(TranslationModel& model, const std::string& path, double scale, std::int32_t index,
            double amount) {
  const ParameterHandle parameter = model.parameters().find(path);
  REQUIRE(parameter);
  std::vector<double> values = parameter->tensor.to_vector<double>();
  for (double& value : values) value *= scale;
  if (amount != 0.0) values.at(static_cast<std::size_t>(index)) += amount;
  parameter->tensor.assign<double>(values);
}

}  // namespace

std::unique_ptr<TranslationModel> make_small_model(const ModelConfig& config,
                                                   const std::shared_ptr<Device>& device,
                                                   std::int64_t vocabulary, std::uint64_t seed, DType type) {
  auto model = make_translation_model(config, {vocabulary, vocabulary}, device, type, seed);
  // Large weights, so that what comes out depends on what goes in.
  const bool recurrent = config.type != ModelConfig::Type::transformer;
  for (const ParameterHandle& parameter : model->parameters().all()) {
    if (recurrent && parameter->path.find("rnn") != std::string::npos)
      change(*model, parameter->path, 3.0, 0, 0.0);
  }
  change(*model, "decoder.dense.weight", recurrent ? 6.0 : 2.0, 0, 0.0);
  return model;
}

void favour(TranslationModel& model, std::int32_t token, double amount) {
  change(model, "decoder.dense.bias", 1.0, token, amount);
}

Sources::Sources(std::vector<std::vector<std::int32_t>> sentences) : rows(std::move(sentences)) {
  for (const auto& row : rows) steps = std::max(steps, static_cast<std::int64_t>(row.size()));
  for (const auto& row : rows) {
    ids.insert(ids.end(), row.begin(), row.end());
    ids.insert(ids.end(), static_cast<std::size_t>(steps) - row.size(), Vocabulary::pad);
    valid_lengths.push_back(static_cast<std::int32_t>(row.size()));
  }
}

std::vector<std::vector<std::int32_t>> some_sentences(std::size_t count, std::int64_t vocabulary,
                                                      std::size_t longest) {
  SplitMix64 random(11);
  std::vector<std::vector<std::int32_t>> sentences(count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t t = 0; t < i * 5 % longest; ++t) {
      const auto ordinary = static_cast<std::uint64_t>(vocabulary - Vocabulary::special_count);
      sentences[i].push_back(Vocabulary::special_count + static_cast<std::int32_t>(random.below(ordinary)));
    }
    sentences[i].push_back(Vocabulary::eos);
  }
  return sentences;
}

}  // namespace attn::test
