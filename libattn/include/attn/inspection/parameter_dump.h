#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "attn/training/translation_system.h"

namespace attn {

/// A sentence whose activations are wanted.
struct ActivationRequest {
  std::string source;
  std::optional<std::string> target = {};  ///< absent: the model's own translation, greedily
};

/// Writes every parameter of a model to a file of format "attn.parameters" (docs/file-formats.md), and what
/// the model computes for a sentence, if one is given: each layer's output, every attention map, logits.
/// Whole or not at all. Throws Error(file), Error(input_data) for a blank sentence.
void write_parameters(const std::filesystem::path& path, const TranslationSystem& system,
                      const std::optional<ActivationRequest>& activations, const std::string& command_line);

}  // namespace attn
