#pragma once
#include <filesystem>
#include <string>

namespace attn {

/// Draws the losses and BLEU of a metrics.jsonl as an SVG. Writes nothing while there are fewer than two
/// epochs.
void write_learning_curve(const std::filesystem::path& metrics, const std::filesystem::path& svg,
                          const std::string& title);

}  // namespace attn
