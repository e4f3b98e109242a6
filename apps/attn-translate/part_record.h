#pragma once
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "counts.h"

namespace attn::translate {

/// What --resume must know of a partly written output file, kept beside it as FILE.part.json.
struct PartRecord {
  std::string model_sha256;
  nlohmann::ordered_json options;  ///< those that change the output, as they were given
  std::string input_sha256;        ///< over the lines that are answered (Input::lines_digest)
  std::string target_sha256;       ///< the same of the targets of --score, else empty
  std::uint64_t output_bytes = 0;  ///< that belong to these lines
  std::string output_sha256;       ///< of these bytes
  Counts counts;                   ///< of these lines
};

/// The name of the record of an output file.
std::filesystem::path record_path(const std::filesystem::path& output);

/// Replaces the record. Throws Error(file).
void write_record(const std::filesystem::path& path, const PartRecord& record);

/// Reads a record; nothing if there is none. Throws Error(file) if it is damaged, or of another version.
std::optional<PartRecord> read_record(const std::filesystem::path& path);

/// Throws Error(usage) naming what differs unless the output that `found` speaks of was begun with the model
/// and the options of `wanted`.
void check_same_run(const std::filesystem::path& output, const PartRecord& found, const PartRecord& wanted);

}  // namespace attn::translate
