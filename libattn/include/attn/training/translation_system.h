#pragma once
#include <filesystem>
#include <memory>
#include <string>

#include "attn/models/translation_model.h"
#include "attn/text/text_processing.h"

namespace attn {

/// A model with all that is needed to translate text.
struct TranslationSystem {
  ModelConfig config;
  TextProcessing text;
  std::unique_ptr<TranslationModel> model;
  std::string config_yaml;        ///< the resolved configuration that it was trained with
  std::string checkpoint_sha256;  ///< of the file that it was loaded from
};

/// Loads a model from a checkpoint file, or from a run directory (its best checkpoint, else its last). Throws
/// Error(file) for a file that is missing, damaged, of another format or a newer version, Error(input_data)
/// if parameters are missing, extra or of another shape (all are listed).
TranslationSystem load_translation_system(const std::filesystem::path& path,
                                          const std::shared_ptr<Device>& device, DType type = DType::f32);

}  // namespace attn
