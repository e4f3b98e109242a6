#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "attn/models/translation_model.h"
#include "attn/text/tokenizer.h"
#include "attn/text/vocabulary.h"

namespace attn {

/// How text becomes ids for a model, and ids become text.
struct TextProcessing {
  Tokenizer source_tokenizer = Tokenizer::named("word");
  Tokenizer target_tokenizer = Tokenizer::named("word");
  Vocabulary source_vocabulary, target_vocabulary;
  /// Every source is cut or padded to exactly so many tokens, <eos> counted, as in the book; absent: as long
  /// as it is.
  std::optional<std::size_t> steps;
  /// Without `steps`: longer sources are cropped to this, <eos> counted and kept.
  std::optional<std::size_t> max_length;
};

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
