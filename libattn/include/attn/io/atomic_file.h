#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace attn {

/// The whole file as bytes. Throws Error (ExitCode::file) when it is missing, a folder or unreadable.
std::string read_file(const std::filesystem::path& path);

/// The SHA-256 of a file's bytes as 64 hexadecimal digits, read block by block. Throws as read_file does.
std::string sha256_of_file(const std::filesystem::path& path);

/// The temporary name under which an output file grows until it is complete: TARGET.part beside the target,
/// so that a reader sees either the old file or the whole new one. A symbolic link is followed, not replaced.
/// The temporary file is removed when this is destroyed without commit().
class PartFile {
 public:
  using Verify = std::function<void(const std::filesystem::path& part)>;

  /// Checks that the folder exists and that the target is not a folder or a device; creates an empty part
  /// file, so that a read-only folder is reported before the work starts. Throws Error (ExitCode::file).
  explicit PartFile(const std::filesystem::path& target);
  /// The same, but a part file that is there keeps its contents.
  static PartFile existing(const std::filesystem::path& target);
  /// The name of the part file of `target`.
  static std::filesystem::path name_for(const std::filesystem::path& target);
  PartFile(PartFile&& other) noexcept;
  PartFile& operator=(PartFile&&) = delete;
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;
  ~PartFile();

  const std::filesystem::path& target() const noexcept { return target_; }
  const std::filesystem::path& part() const noexcept { return part_; }

  /// Call when the writer has closed the part file: runs `verify` on it (which throws when the file is not as
  /// written), fsync, rename to the target, fsync of the folder. Throws Error (ExitCode::file).
  void commit(const Verify& verify = {});
  /// Leaves the part file as it is, for a later run to go on with; nothing can be committed afterwards.
  void keep() noexcept { part_.clear(); }

 private:
  PartFile(const std::filesystem::path& target, int flags);

  std::filesystem::path target_;
  std::filesystem::path part_;
};

/// A text or binary output file of which either everything arrives or nothing: written to TARGET.part and
/// moved into place by commit(). Every write is checked. A target that exists and is a device or a pipe
/// (/dev/stdout) is written directly.
class AtomicFile {
 public:
  /// Throws Error (ExitCode::file) when the folder is missing or not writable, or the target is a folder.
  explicit AtomicFile(const std::filesystem::path& target);
  /// Goes on with the part file of an earlier run, of which the first `bytes` bytes are kept. Throws as the
  /// other.
  AtomicFile(const std::filesystem::path& target, std::uint64_t bytes);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  /// Appends these bytes (buffered). Throws Error (ExitCode::file), for instance on a full disk.
  void write(std::string_view bytes);

  /// Writes what is buffered and waits until it is on the disk, so that a part file that is kept has it.
  /// Throws Error (ExitCode::file).
  void synchronise();
  /// Has the part file stay, whatever becomes of this: as far as synchronise() saw it at least.
  void keep_part() noexcept {
    if (part_) part_->keep();
  }

  /// Writes what is buffered, closes, verifies, and gives the file its name. Nothing may be written
  /// afterwards.
  void commit(const PartFile::Verify& verify = {});

 private:
  void flush();
  void close();
  void open(int flags);

  std::filesystem::path target_;
  std::unique_ptr<PartFile> part_;  ///< none where a device is written directly
  std::string buffer_;
  int descriptor_ = -1;
};

/// AtomicFile in one call: the file holds exactly `bytes` afterwards.
void write_file_atomically(const std::filesystem::path& target, std::string_view bytes);

}  // namespace attn
