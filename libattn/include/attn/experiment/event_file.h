#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/experiment/run_history.h"

/// Scalars for TensorBoard: a file of TFRecords, each an Event of tensorflow/core/util/event.proto. Only the
/// few fields that scalars need are written, so that no protobuf library is needed.
namespace attn {

/// CRC-32C (Castagnoli), and how a TFRecord masks it (tensorflow/core/lib/hash/crc32c.h).
std::uint32_t crc32c(std::string_view bytes);
std::uint32_t masked_crc32c(std::string_view bytes);

/// `data` as one TFRecord: length, masked CRC of the length, data, masked CRC of the data; little-endian.
std::string tf_record(std::string_view data);

struct ScalarEvent {
  std::int64_t step = 0;
  double wall_time = 0.0;                             ///< seconds since 1970
  std::vector<std::pair<std::string, float>> values;  ///< by tag
};

/// An Event message with a Summary of simple values.
std::string encode_event(const ScalarEvent& event);
/// The Event that begins a file: "brain.Event:2".
std::string encode_version_event(double wall_time);

/// The name that a metric of metrics.jsonl has in TensorBoard: "loss/train", "bleu/valid", "learning_rate".
/// Nothing for what is no curve (epoch, update, tokens).
std::optional<std::string> scalar_tag(std::string_view metric);

/// The events of a run, in FOLDER/events.out.tfevents.attn.
class EventFile {
 public:
  /// Opens or creates the file. Of what is there, events after `last_step` go, and so does a record that was
  /// cut off: a run that is resumed writes these steps again. Throws Error (file).
  EventFile(const std::filesystem::path& folder, std::int64_t last_step);

  /// Whether there are no scalars yet.
  bool empty() const noexcept { return empty_; }
  /// Adds an epoch's metrics at its update, in one write. Throws Error (file).
  void add(const EpochMetrics& epoch);

 private:
  void append(const std::string& records) const;

  std::filesystem::path file_;
  bool empty_ = true;
};

}  // namespace attn
