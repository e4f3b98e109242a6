#include "attn/models/seq2seq.h"
#include "attn/models/transformer.h"

namespace attn {

std::unique_ptr<TranslationModel> make_translation_model(const ModelConfig& config,
                                                         const VocabularySizes& vocabularies,
                                                         const std::shared_ptr<Device>& device, DType type,
                                                         std::optional<std::uint64_t> seed) {
  auto parameters = std::make_unique<ParameterStore>(device, type);
  std::unique_ptr<TranslationModel> model;
  switch (config.type) {
    case ModelConfig::Type::seq2seq:
      model = std::make_unique<Seq2Seq>(config, vocabularies, std::move(parameters));
      break;
    case ModelConfig::Type::seq2seq_attention:
      model = std::make_unique<Seq2SeqAttention>(config, vocabularies, std::move(parameters));
      break;
    case ModelConfig::Type::transformer:
      model = std::make_unique<Transformer>(config, vocabularies, std::move(parameters));
      break;
  }
  model->parameters().materialise(seed);
  return model;
}

}  // namespace attn
