#include "attn/experiment/event_file.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "attn/core/error.h"
#include "attn/io/atomic_file.h"

namespace attn {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t record_head = 12, record_tail = 4;

// Wire types of protobuf.
constexpr std::uint64_t varint_type = 0, fixed64_type = 1, bytes_type = 2, fixed32_type = 5;
// Fields of Event, Summary and Summary.Value.
constexpr std::uint64_t event_wall_time = 1, event_step = 2, event_version = 3, event_summary = 5;
constexpr std::uint64_t summary_value = 1, value_tag = 1, value_simple = 2;

constexpr std::array<std::uint32_t, 256> make_crc_table() {
  constexpr std::uint32_t polynomial = 0x82F63B78U;  // reflected
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0U ? polynomial : 0U);
    table[i] = crc;
  }
  return table;
}

template<typename Integer>
std::string little_endian(Integer value) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof(value); ++i)
    bytes += static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
  return bytes;
}

template<typename Integer>
Integer from_little_endian(std::string_view bytes) {
  Integer value = 0;
  for (std::size_t i = 0; i < sizeof(value); ++i)
    value |= static_cast<Integer>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return value;
}

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80U; value >>= 7U) bytes += static_cast<char>(static_cast<unsigned char>(value | 0x80U));
  return bytes + static_cast<char>(value);
}

std::string key(std::uint64_t field, std::uint64_t type) {
  return varint(field << 3U | type);
}

std::string bytes_field(std::uint64_t field, std::string_view bytes) {
  return key(field, bytes_type) + varint(bytes.size()) + std::string(bytes);
}

std::string wall_time_field(double seconds) {
  return key(event_wall_time, fixed64_type) + little_endian(std::bit_cast<std::uint64_t>(seconds));
}

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::optional<std::uint64_t> read_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
    if (byte < 0x80U) return value;
  }
  return std::nullopt;
}

/// The step of an Event that has scalars; nothing for other events and for what is no Event.
std::optional<std::int64_t> step_of(std::string_view event) {
  std::int64_t step = 0;
  bool has_summary = false;
  while (!event.empty()) {
    const auto head = read_varint(event);
    if (!head) return std::nullopt;
    const std::uint64_t field = *head >> 3U, type = *head & 7U;
    std::uint64_t length = type == fixed64_type ? 8 : 4;
    if (type == varint_type || type == bytes_type) {
      const auto value = read_varint(event);
      if (!value) return std::nullopt;
      if (field == event_step && type == varint_type) step = static_cast<std::int64_t>(*value);
      length = type == bytes_type ? *value : 0;
    } else if (type != fixed64_type && type != fixed32_type) {
      return std::nullopt;
    }
    if (length > event.size()) return std::nullopt;
    has_summary = has_summary || (field == event_summary && type == bytes_type);
    event.remove_prefix(length);
  }
  return has_summary ? std::optional(step) : std::nullopt;
}

/// The data of the first record of `bytes`; nothing where it is cut off or damaged.
std::optional<std::string_view> first_record(std::string_view bytes) {
  if (bytes.size() < record_head + record_tail) return std::nullopt;
  const std::string_view head = bytes.substr(0, 8);
  const auto length = from_little_endian<std::uint64_t>(head);
  if (from_little_endian<std::uint32_t>(bytes.substr(8, 4)) != masked_crc32c(head)) return std::nullopt;
  if (length > bytes.size() - record_head - record_tail) return std::nullopt;
  const std::string_view data = bytes.substr(record_head, length);
  const std::string_view tail = bytes.substr(record_head + length, record_tail);
  if (from_little_endian<std::uint32_t>(tail) != masked_crc32c(data)) return std::nullopt;
  return data;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static constexpr std::array<std::uint32_t, 256> table = make_crc_table();
  std::uint32_t crc = ~0U;
  for (const char c : bytes) crc = (crc >> 8U) ^ table[(crc ^ static_cast<unsigned char>(c)) & 0xFFU];
  return ~crc;
}

std::uint32_t masked_crc32c(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return (crc >> 15U | crc << 17U) + 0xA282EAD8U;
}

std::string tf_record(std::string_view data) {
  const std::string length = little_endian(static_cast<std::uint64_t>(data.size()));
  return length + little_endian(masked_crc32c(length)) + std::string(data) +
         little_endian(masked_crc32c(data));
}

std::string encode_event(const ScalarEvent& event) {
  std::string summary;
  for (const auto& [tag, value] : event.values) {
    summary += bytes_field(summary_value, bytes_field(value_tag, tag) + key(value_simple, fixed32_type) +
                                              little_endian(std::bit_cast<std::uint32_t>(value)));
  }
  return wall_time_field(event.wall_time) + key(event_step, varint_type) +
         varint(static_cast<std::uint64_t>(event.step)) + bytes_field(event_summary, summary);
}

std::string encode_version_event(double wall_time) {
  return wall_time_field(wall_time) + bytes_field(event_version, "brain.Event:2");
}

std::optional<std::string> scalar_tag(std::string_view metric) {
  constexpr std::string_view validation = "valid_";
  for (const std::string_view counter : {"epoch", "update", "tokens", "seconds"}) {
    if (metric == counter) return std::nullopt;
  }
  if (metric.starts_with(validation)) return std::string(metric.substr(validation.size())) + "/valid";
  if (metric.ends_with("loss")) return std::string(metric) + "/train";
  return std::string(metric);
}

EventFile::EventFile(const fs::path& folder, std::int64_t last_step)
    : file_(folder / "events.out.tfevents.attn") {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) fail(ExitCode::file, "{} cannot be created: {}", folder.string(), failed.message());
  const std::string former = fs::exists(file_, failed) ? read_file(file_) : "";
  std::size_t kept = 0;
  while (const auto record = first_record(std::string_view(former).substr(kept))) {
    const auto step = step_of(*record);
    if (step && *step > last_step) break;
    empty_ = empty_ && !step;
    kept += record_head + record->size() + record_tail;
  }
  if (kept == 0) {
    write_file_atomically(file_, tf_record(encode_version_event(now())));
  } else if (kept < former.size()) {
    write_file_atomically(file_, std::string_view(former).substr(0, kept));
  }
}

void EventFile::add(const EpochMetrics& epoch) {
  ScalarEvent event{.step = 0, .wall_time = now(), .values = {}};
  for (const auto& [metric, value] : epoch) {
    if (metric == "update") event.step = static_cast<std::int64_t>(value);
    if (const auto tag = scalar_tag(metric)) event.values.emplace_back(*tag, static_cast<float>(value));
  }
  append(tf_record(encode_event(event)));
  empty_ = false;
}

void EventFile::append(const std::string& records) const {
  std::FILE* stream = std::fopen(file_.c_str(), "ab");
  bool written =
      stream != nullptr && std::fwrite(records.data(), 1, records.size(), stream) == records.size();
  if (stream != nullptr) written = std::fclose(stream) == 0 && written;
  if (!written) fail(ExitCode::file, "{} cannot be written: {}", file_.string(), std::strerror(errno));
}

}  // namespace attn
