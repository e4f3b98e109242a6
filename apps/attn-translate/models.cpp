#include "models.h"

#include <algorithm>
#include <span>
#include <utility>

#include "attn/core/error.h"
#include "attn/core/sha256.h"

namespace attn::translate {
namespace {

std::unique_ptr<TranslationModel> copy_of(const TranslationModel& model, const ModelConfig& config,
                                          const TextProcessing& text, const std::shared_ptr<Device>& device) {
  const VocabularySizes sizes{static_cast<std::int64_t>(text.source_vocabulary.size()),
                              static_cast<std::int64_t>(text.target_vocabulary.size())};
  auto copy = make_translation_model(config, sizes, device, model.parameters().dtype(), std::nullopt);
  for (const ParameterHandle& parameter : copy->parameters().all()) {
    const ParameterHandle from = model.parameters().find(parameter->path);
    if (!from) fail(ExitCode::internal, "the copy of the model has another parameter '{}'", parameter->path);
    parameter->tensor.assign<float>(from->tensor.to_vector<float>());
  }
  return copy;
}

std::optional<std::size_t> smaller(std::optional<std::size_t> a, std::optional<std::size_t> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

}  // namespace

LoadedModels load_models(const std::string& model, const SearchCommand& command,
                         const std::shared_ptr<Device>& device) {
  LoadedModels loaded;
  loaded.system = load_translation_system(model, device);
  loaded.configs.push_back(loaded.system.config);
  loaded.parameters = loaded.system.model->parameters().count();
  if (command.ensemble.empty()) return loaded;

  std::vector<std::unique_ptr<TranslationModel>> members;
  members.push_back(std::move(loaded.system.model));
  std::string digests = loaded.system.checkpoint_sha256;
  for (const std::string& path : command.ensemble) {
    TranslationSystem member = load_translation_system(path, device);
    if (const auto difference = text_difference(loaded.system.text, member.text)) {
      fail(ExitCode::usage, "{} and {} cannot translate together: {}; train both on the same vocabularies",
           model, path, *difference);
    }
    loaded.system.text.max_length = smaller(loaded.system.text.max_length, member.text.max_length);
    loaded.configs.push_back(member.config);
    loaded.parameters += member.model->parameters().count();
    digests += member.checkpoint_sha256;
    members.push_back(std::move(member.model));
  }
  loaded.system.checkpoint_sha256 = sha256_hex(digests);
  loaded.system.config = ensemble_config(loaded.configs);
  loaded.system.model = std::make_unique<EnsembleModel>(std::move(members), ensemble_average(command));
  return loaded;
}

std::unique_ptr<TranslationModel> copy_of(const LoadedModels& models, const std::shared_ptr<Device>& device) {
  const TextProcessing& text = models.system.text;
  const auto* ensemble = dynamic_cast<const EnsembleModel*>(models.system.model.get());
  if (ensemble == nullptr) return copy_of(*models.system.model, models.configs.front(), text, device);
  std::vector<std::unique_ptr<TranslationModel>> members;
  for (std::size_t i = 0; i < ensemble->members().size(); ++i)
    members.push_back(copy_of(*ensemble->members()[i], models.configs[i], text, device));
  return std::make_unique<EnsembleModel>(std::move(members), ensemble->average());
}

}  // namespace attn::translate
