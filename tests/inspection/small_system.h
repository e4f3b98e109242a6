#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "attn/inspection/attention_dump.h"

namespace attn::test {

/// An untrained Transformer of 2 layers and 2 heads, with large weights, on letters "a b c d e".
ModelConfig small_transformer();
/// The same with Bahdanau attention.
ModelConfig small_recurrent();

/// The model of `config` with vocabularies of letters; equal for equal backends.
TranslationSystem small_system(const ModelConfig& config, const std::string& backend = "reference");

/// Dumps `lines` to `path`, and returns how many were bad.
std::size_t dump(const TranslationSystem& system, const std::vector<AttentionDump::Line>& lines,
                 const std::filesystem::path& path, AttentionDumpOptions options = {});

/// Lines of letters, one of them blank.
std::vector<AttentionDump::Line> some_lines();

}  // namespace attn::test
