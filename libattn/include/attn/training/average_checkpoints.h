#pragma once
#include <filesystem>
#include <memory>
#include <span>

#include "attn/training/translation_system.h"

namespace attn {

/// A system whose parameters are the means of those of several checkpoints (as in section 6.1 of Vaswani et
/// al., 2017), added up in double precision. Of a checkpoint with a moving average its average is taken, as
/// for translating. The result has the element type and the configuration of the first. Throws Error(usage)
/// for fewer than two files or one named twice; Error(input_data) where a file disagrees with the first one:
/// the message names both and the tensor, key or vocabulary; and what load_translation_system throws.
TranslationSystem average_checkpoints(std::span<const std::filesystem::path> paths,
                                      const std::shared_ptr<Device>& device);

}  // namespace attn
