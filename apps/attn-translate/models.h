#pragma once
#include <memory>
#include <string>
#include <vector>

#include "attn/runtime/device.h"
#include "attn/training/translation_system.h"
#include "search_options.h"

namespace attn::translate {

/// MODEL and the checkpoints of --ensemble as one system.
struct LoadedModels {
  TranslationSystem system;
  std::vector<ModelConfig> configs;  ///< of each model
  std::int64_t parameters = 0;       ///< of all together
};

/// Loads `model` and the ensemble's members on `device`; sources are cropped to what all of them take. Throws
/// Error(usage) for models that cannot be an ensemble, with what differs, and as load_translation_system.
LoadedModels load_models(const std::string& model, const SearchCommand& command,
                         const std::shared_ptr<Device>& device);

/// The same model or ensemble on another device.
std::unique_ptr<TranslationModel> copy_of(const LoadedModels& models, const std::shared_ptr<Device>& device);

}  // namespace attn::translate
