#pragma once
#include <cstddef>
#include <filesystem>
#include <istream>
#include <memory>
#include <span>
#include <string>

namespace attn {

/// Bytes in order, from wherever they come.
class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  /// Waits until at least one byte is there, stores what is at hand in `out` (not empty) and returns how many
  /// bytes that is; 0 at the end. Throws Error (file).
  virtual std::size_t read(std::span<char> out) = 0;
};

/// Opens a file, or standard input for "-". Throws Error (file).
std::unique_ptr<ByteSource> open_file_source(const std::filesystem::path& path, const std::string& name);

/// Reads `stream` without waiting for more than its buffer holds.
std::unique_ptr<ByteSource> open_stream_source(std::istream& stream);

/// Looks at the first bytes of `source`: unpacks gzip, passes everything else through.
std::unique_ptr<ByteSource> unpack_if_gzip(std::unique_ptr<ByteSource> source, const std::string& name);

}  // namespace attn
