#pragma once
#include <array>
#include <cstddef>
#include <functional>
#include <istream>
#include <memory>
#include <optional>
#include <streambuf>
#include <string>

#include "attn/text/lines.h"

namespace attn::translate {

/// Bytes of a descriptor; calls `idle` before each wait for bytes that have not arrived yet, and is at its
/// end when the program is interrupted.
class DescriptorBuffer final : public std::streambuf {
 public:
  /// The caller owns `descriptor`.
  DescriptorBuffer(int descriptor, std::string name, std::function<void()> idle)
      : descriptor_(descriptor), name_(std::move(name)), idle_(std::move(idle)) {}

 protected:
  /// Throws Error(file) when reading fails, and whatever `idle` throws.
  int_type underflow() override;

 private:
  int descriptor_;
  std::string name_;
  std::function<void()> idle_;
  std::array<char, 1 << 16> bytes_{};
};

/// The source text line by line.
class Input {
 public:
  /// `path` is a file, or "-" for standard input. `idle` is called when standard input has nothing more to
  /// give at the moment, so that what has been read can be answered. Throws Error(file).
  Input(const std::string& path, std::function<void()> idle);

  std::optional<std::string> next() { return reader_->next(); }
  const TextReport& report() const noexcept { return reader_->report(); }
  /// Lines to collect before translating.
  std::size_t window() const noexcept { return window_; }

 private:
  std::unique_ptr<DescriptorBuffer> buffer_;
  std::unique_ptr<std::istream> stream_;
  std::unique_ptr<LineReader> reader_;
  std::size_t window_;
};

/// Lines that are sorted by length and translated together.
inline constexpr std::size_t file_window = 4096;

}  // namespace attn::translate
