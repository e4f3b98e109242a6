#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <istream>
#include <optional>
#include <streambuf>
#include <string>

#include "attn/core/sha256.h"
#include "attn/text/lines.h"

namespace attn::translate {

/// Bytes of a file or of standard input; calls `idle` before each wait for bytes that have not arrived yet,
/// and is at its end when the program is interrupted.
class DescriptorBuffer final : public std::streambuf {
 public:
  /// `path` is a file, or "-" for standard input. Throws Error(file).
  DescriptorBuffer(const std::string& path, std::function<void()> idle);
  DescriptorBuffer(const DescriptorBuffer&) = delete;
  DescriptorBuffer& operator=(const DescriptorBuffer&) = delete;
  ~DescriptorBuffer() override;

  const std::string& name() const noexcept { return name_; }
  int descriptor() const noexcept { return descriptor_; }
  std::uint64_t bytes_read() const noexcept { return bytes_read_; }
  /// SHA-256 of the bytes read so far.
  std::string digest() const { return Sha256(digest_).hex_digest(); }

 protected:
  /// Throws Error(file) when reading fails, and whatever `idle` throws.
  int_type underflow() override;

 private:
  std::string name_;
  int descriptor_;
  std::function<void()> idle_;
  bool ended_ = false;
  std::uint64_t bytes_read_ = 0;
  Sha256 digest_;
  std::array<char, 1 << 16> bytes_{};
};

/// A line of a text as it was read.
struct InputLine {
  std::string text;
  bool replaced = false;  ///< held bytes that were not UTF-8
};

/// A text line by line.
class Input {
 public:
  /// `path` is a file, or "-" for standard input. `idle` is called when the input has nothing more to give at
  /// the moment, so that what has been read can be answered. Throws Error(file).
  explicit Input(
      const std::string& path, std::function<void()> idle = [] {});

  std::optional<InputLine> next();
  const TextReport& report() const noexcept { return reader_.report(); }
  /// SHA-256 over the lines so far, the same for every way of ending lines and of packing the file.
  std::string lines_digest() const { return Sha256(lines_digest_).hex_digest(); }
  /// SHA-256 of the whole input as it is stored. Reads what may follow the last line.
  std::string digest();
  std::uint64_t bytes_read() const noexcept { return buffer_.bytes_read(); }
  /// Lines to collect before translating.
  std::size_t window() const noexcept { return window_; }

 private:
  DescriptorBuffer buffer_;
  std::istream stream_;
  LineReader reader_;
  Sha256 lines_digest_;
  std::size_t window_;
};

/// Lines that are sorted by length and translated together.
inline constexpr std::size_t file_window = 4096;

}  // namespace attn::translate
