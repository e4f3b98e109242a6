#include "training/training_support.h"

#include <algorithm>

#include "attn/models/model_names.h"
#include "attn/runtime/backend.h"

namespace attn::test {

std::string fast_backend() {
  const std::vector<BackendListing> built = list_backends();
  const bool found = std::any_of(built.begin(), built.end(), [](const auto& b) { return b.name == "eigen"; });
  return found ? "eigen" : "reference";
}

std::shared_ptr<Device> device_of(const std::string& backend, int threads) {
  DeviceOptions options;
  options.threads = threads;
  return Device::open(backend, options);
}

std::vector<ModelConfig> trained_models() {
  std::vector<ModelConfig> configs(3);
  for (ModelConfig& config : configs) {
    config.embedding_size = 12;
    config.hidden_size = 16;
    config.heads = 2;
    config.feed_forward_size = 24;
    config.dropout = 0.1;
  }
  configs[0].type = ModelConfig::Type::seq2seq;
  configs[1].type = ModelConfig::Type::seq2seq_attention;
  return configs;
}

std::string name_of(const ModelConfig& config) {
  return std::string(names::of(names::model_types, config.type));
}

EncodedCorpus small_corpus(std::size_t pairs, EncodingOptions options) {
  EncodedCorpus corpus(options);
  for (std::size_t i = 0; i < pairs; ++i) {
    std::vector<std::int32_t> source;
    for (std::size_t t = 0; t < 2 + i * 3 % 7; ++t)
      source.push_back(Vocabulary::special_count + static_cast<std::int32_t>((i * 5 + t * t * 3) % 16));
    const std::vector<std::int32_t> target(source.rbegin(), source.rend());
    corpus.add(source, target, i + 1);
  }
  return corpus;
}

Vocabulary some_vocabulary(const std::string& prefix) {
  std::vector<std::string> tokens{"back\\slash", "\xe7\x8c\xab", "<eos>"};
  while (tokens.size() + Vocabulary::special_count < static_cast<std::size_t>(small_vocabulary))
    tokens.push_back(prefix + std::to_string(tokens.size()));
  return Vocabulary::from_tokens(tokens);
}

TranslationSystem system_of(const ModelConfig& config, const std::shared_ptr<Device>& device, DType type,
                            std::uint64_t seed) {
  TranslationSystem system;
  system.config = config;
  system.text.source_tokenizer = Tokenizer::named("character", {false});
  system.text.target_tokenizer = Tokenizer::named("whitespace");
  system.text.source_vocabulary = some_vocabulary("s");
  system.text.target_vocabulary = some_vocabulary("t");
  system.text.max_length = 30;
  system.config_yaml = "name: small\n";
  system.model = make_translation_model(config, {small_vocabulary, small_vocabulary}, device, type, seed);
  return system;
}

TrainerConfig small_training(std::int64_t epochs) {
  TrainerConfig config;
  config.optimizer.clip_norm = 1.0;
  config.schedule.learning_rate = 0.01;
  config.batches.batch_size = 4;
  config.epochs = epochs;
  config.seed = 5;
  return config;
}

std::vector<double> parameters_of(const TranslationModel& model) {
  std::vector<double> values;
  for (const ParameterHandle& parameter : model.parameters().all()) {
    const std::vector<double> part = parameter->tensor.to_vector<double>();
    values.insert(values.end(), part.begin(), part.end());
  }
  return values;
}

std::vector<double> state_of(const TranslationModel& model, const Optimizer& optimizer) {
  std::vector<double> values = parameters_of(model);
  for (const Tensor* moments : {&optimizer.m(), &optimizer.v()}) {
    if (!moments->defined()) continue;
    for (const ParameterHandle& parameter : model.parameters().all()) {
      const auto part = model.parameters().part(*moments, *parameter).to_vector<double>();
      values.insert(values.end(), part.begin(), part.end());
    }
  }
  values.push_back(static_cast<double>(optimizer.steps()));
  return values;
}

}  // namespace attn::test
