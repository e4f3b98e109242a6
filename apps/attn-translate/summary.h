#pragma once
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "counts.h"

namespace attn::translate {

/// What --summary tells of a run (docs/translating.md).
struct Summary {
  /// A text as it is stored.
  struct Text {
    std::string name;
    std::uint64_t bytes = 0;
    std::string sha256;  ///< empty where it was not read to its end
  };
  bool complete = false;  ///< all lines of the input are answered
  int exit_code = 0;
  std::uint64_t lines_in = 0, invalid_utf8 = 0;
  Counts counts;
  std::uint64_t resumed_lines = 0;  ///< answered by earlier runs
  Text input;
  std::optional<Text> targets, output;
  std::string model, model_sha256;
  nlohmann::ordered_json options;  ///< that change the output, as they were given
  std::string backend;
  std::size_t workers = 1;
  double seconds = 0.0;  ///< without loading the model
};

/// Writes it as one JSON object to a file, or to standard error for "-". Throws Error(file).
void write_summary(const std::string& path, const Summary& summary);

}  // namespace attn::translate
