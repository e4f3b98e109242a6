#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "attn/cli/output.h"
#include "attn/core/sha256.h"
#include "attn/io/atomic_file.h"
#include "part_record.h"

namespace attn::translate {

/// Where results go: standard output, or a file that appears when it is complete. Every write is checked. A
/// file grows as FILE.part, with a record beside it from which a later run can go on.
class Output {
 public:
  /// "-" is standard output. `record` describes the run: its model and options. With `resume`, what an
  /// earlier run of the same kind has written is kept, and resumed() tells of it; without, it is an
  /// Error(usage) if there is any, since hours of work would be lost. Throws Error(file) where a file cannot
  /// be made, or is not what its record says.
  Output(const std::string& path, bool resume, PartRecord record);
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output();

  /// What the earlier run had done; nothing if this one begins.
  const std::optional<PartRecord>& resumed() const noexcept { return resumed_; }

  /// Throws Error(file), or cli::BrokenPipe when nobody reads standard output any more.
  void write(std::string_view bytes);
  /// Lets a reader of standard output see what has been written.
  void flush();
  /// Whether it is time to remember how far a file is.
  bool wants_record() const;
  /// Remembers that what has been written so far belongs to the lines that `counts` and the digests tell of.
  void remember(const Counts& counts, std::string input_sha256, std::string target_sha256);
  /// Completes the file.
  void finish();

  /// Whether something stays for a later run if this one ends here.
  bool resumable() const noexcept { return file_ && recorded_lines_ > 0; }
  std::uint64_t bytes() const noexcept { return record_.output_bytes; }
  /// Line feeds written, those of an earlier run included.
  std::uint64_t lines() const noexcept { return lines_; }
  /// SHA-256 of all that has been written, that of an earlier run included.
  std::string digest() const { return Sha256(digest_).hex_digest(); }

 private:
  void open_file(const std::string& path, bool resume);
  void check_part(const std::filesystem::path& output);
  void add(std::string_view bytes);

  PartRecord record_;
  std::optional<PartRecord> resumed_;
  std::optional<AtomicFile> file_;
  std::filesystem::path record_path_;  ///< empty where no record is kept
  std::uint64_t recorded_lines_ = 0;
  std::chrono::steady_clock::time_point recorded_at_;
  std::uint64_t lines_ = 0;
  Sha256 digest_;
  cli::StandardOutput standard_;
};

}  // namespace attn::translate
