#include "inspection/small_system.h"

namespace attn::test {
namespace {

ModelConfig small_config(ModelConfig::Type type) {
  ModelConfig config;
  config.type = type;
  config.embedding_size = 6;
  config.hidden_size = 8;
  config.heads = 2;
  config.feed_forward_size = 12;
  return config;
}

}  // namespace

ModelConfig small_transformer() {
  return small_config(ModelConfig::Type::transformer);
}

ModelConfig small_recurrent() {
  return small_config(ModelConfig::Type::seq2seq_attention);
}

TranslationSystem small_system(const ModelConfig& config, const std::string& backend) {
  TranslationSystem system;
  system.config = config;
  const std::vector<std::string> tokens = {"a", "b", "c", "d", "e"};
  system.text.source_vocabulary = system.text.target_vocabulary = Vocabulary::from_tokens(tokens);
  system.config_yaml = "name: small\n";
  system.checkpoint_sha256 = std::string(64, 'a');
  system.model = make_translation_model(config, {9, 9}, Device::open(backend), DType::f32, 3);
  for (const ParameterHandle& parameter : system.model->parameters().all()) {
    std::vector<double> values = parameter->tensor.to_vector<double>();
    for (double& value : values) value *= 2.0;  // so that attention is far from uniform
    parameter->tensor.assign<double>(values);
  }
  return system;
}

std::size_t dump(const TranslationSystem& system, const std::vector<AttentionDump::Line>& lines,
                 const std::filesystem::path& path, AttentionDumpOptions options) {
  std::size_t bad_lines = 0;
  hdf5::write_atomically(path, [&](hdf5::File& file) {
    AttentionDump attention(file, system, options, "attn-dump attention");
    for (const AttentionDump::Line& line : lines) attention.add(line);
    attention.finish();
    bad_lines = attention.bad_lines();
  });
  return bad_lines;
}

std::vector<AttentionDump::Line> some_lines() {
  return {{"a b c"}, {""}, {"d"}, {"e e e d c b a"}, {"zzz  a,"}, {"b"}};
}

}  // namespace attn::test
