#include "attn/io/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "attn/core/error.h"
#include "attn/core/sha256.h"

namespace attn {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t buffer_bytes = std::size_t{1} << 16U;

std::string reason(int error) {
  return std::generic_category().message(error);
}

/// Owns a file descriptor; closing without a check is right where only reading or synchronising was done.
class Descriptor {
 public:
  explicit Descriptor(int id) : id_(id) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (id_ >= 0) ::close(id_);
  }
  int id() const { return id_; }

 private:
  int id_;
};

/// Where the data shall really go: the file that a symbolic link points to, else the path itself.
fs::path resolve_link(const fs::path& target) {
  std::error_code error;
  if (!fs::is_symlink(fs::symlink_status(target, error))) return target;
  fs::path resolved = fs::weakly_canonical(target, error);
  return error ? target : resolved;
}

void check_folder(const fs::path& target) {
  if (target.empty() || target.filename().empty()) {
    fail(ExitCode::file, "cannot write '{}': this names no file", target.string());
  }
  std::error_code error;
  if (fs::is_directory(target, error)) {
    fail(ExitCode::file, "cannot write {}: it is a folder; name a file", target.string());
  }
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  const fs::file_status status = fs::status(folder, error);
  if (!fs::exists(status)) {
    fail(ExitCode::file, "cannot write {}: the folder {} does not exist; create it first", target.string(),
         folder.string());
  }
  if (!fs::is_directory(status)) {
    fail(ExitCode::file, "cannot write {}: {} is not a folder", target.string(), folder.string());
  }
}

bool is_device(const fs::path& target) {
  std::error_code error;
  const fs::file_status status = fs::status(target, error);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

void synchronise(const fs::path& path, int flags, const fs::path& target) {
  const Descriptor file(::open(path.c_str(), flags | O_CLOEXEC));
  if (file.id() < 0) fail(ExitCode::file, "cannot write {}: {}", target.string(), reason(errno));
  // Some file systems cannot synchronise a folder and say EINVAL; the data itself is then as safe as it gets.
  if (::fsync(file.id()) != 0 && errno != EINVAL && errno != EROFS) {
    fail(ExitCode::file, "cannot write {}: {}", target.string(), reason(errno));
  }
}

}  // namespace

namespace {

// Hands a file over block by block.
template<typename Take>
void read_blocks(const fs::path& path, Take&& take) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.id() < 0) fail(ExitCode::file, "cannot read {}: {}", path.string(), reason(errno));
  std::string block(buffer_bytes, '\0');
  for (;;) {
    const ssize_t count = ::read(file.id(), block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EISDIR) {
      fail(ExitCode::file, "cannot read {}: it is a folder; name a file", path.string());
    }
    if (count < 0) fail(ExitCode::file, "cannot read {}: {}", path.string(), reason(errno));
    if (count == 0) return;
    take(std::string_view(block.data(), static_cast<std::size_t>(count)));
  }
}

}  // namespace

std::string read_file(const fs::path& path) {
  std::string text;
  read_blocks(path, [&](std::string_view block) { text += block; });
  return text;
}

std::string sha256_of_file(const fs::path& path) {
  Sha256 digest;
  read_blocks(path, [&](std::string_view block) { digest.update(block); });
  return digest.hex_digest();
}

PartFile::PartFile(const fs::path& target) : PartFile(target, O_TRUNC) {}

PartFile PartFile::existing(const fs::path& target) {
  return {target, 0};
}

fs::path PartFile::name_for(const fs::path& target) {
  fs::path part = resolve_link(target);
  part += ".part";
  return part;
}

PartFile::PartFile(const fs::path& target, int flags) : target_(resolve_link(target)) {
  check_folder(target_);
  if (is_device(target_)) {
    fail(ExitCode::file, "cannot write {}: it is a device or a pipe, and this output needs an ordinary file",
         target_.string());
  }
  part_ = target_;
  part_ += ".part";
  // A replaced file keeps its permissions; a new one gets what the user's umask grants.
  struct stat old = {};
  const bool replaces = ::stat(target_.c_str(), &old) == 0;
  const Descriptor file(::open(part_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666));
  if (file.id() < 0) {
    const int error = errno;
    fail(ExitCode::file, "cannot write {}: {}", target_.string(), reason(error));
  }
  if (replaces) ::fchmod(file.id(), old.st_mode & 07777U);
}

PartFile::PartFile(PartFile&& other) noexcept
    : target_(std::move(other.target_)), part_(std::exchange(other.part_, {})) {}

PartFile::~PartFile() {
  if (!part_.empty()) ::unlink(part_.c_str());
}

void PartFile::commit(const Verify& verify) {
  if (part_.empty()) fail(ExitCode::internal, "{} was committed twice", target_.string());
  if (verify) verify(part_);
  synchronise(part_, O_RDONLY, target_);
  if (::rename(part_.c_str(), target_.c_str()) != 0) {
    fail(ExitCode::file, "cannot rename {} to {}: {}", part_.string(), target_.string(), reason(errno));
  }
  part_.clear();
  const fs::path folder = target_.has_parent_path() ? target_.parent_path() : fs::path(".");
  synchronise(folder, O_RDONLY | O_DIRECTORY, target_);
}

AtomicFile::AtomicFile(const fs::path& target) : target_(target) {
  if (!is_device(target)) part_ = std::make_unique<PartFile>(target);
  open(part_ ? O_TRUNC : 0);
}

AtomicFile::AtomicFile(const fs::path& target, std::uint64_t bytes) : target_(target) {
  part_ = std::make_unique<PartFile>(PartFile::existing(target));
  try {
    open(O_APPEND);
    if (::ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0)
      fail(ExitCode::file, "cannot write {}: {}", target_.string(), reason(errno));
  } catch (...) {
    keep_part();
    if (descriptor_ >= 0) ::close(descriptor_);
    throw;
  }
}

void AtomicFile::open(int flags) {
  descriptor_ = ::open((part_ ? part_->part() : target_).c_str(), O_WRONLY | O_CLOEXEC | flags);
  if (descriptor_ < 0) fail(ExitCode::file, "cannot write {}: {}", target_.string(), reason(errno));
  buffer_.reserve(buffer_bytes);
}

void AtomicFile::synchronise() {
  flush();
  if (::fsync(descriptor_) != 0 && errno != EINVAL && errno != EROFS)
    fail(ExitCode::file, "cannot write {}: {}", target_.string(), reason(errno));
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void AtomicFile::write(std::string_view bytes) {
  if (descriptor_ < 0) fail(ExitCode::internal, "{} was written after it was closed", target_.string());
  buffer_.append(bytes);
  if (buffer_.size() >= buffer_bytes) flush();
}

void AtomicFile::flush() {
  std::string_view rest = buffer_;
  while (!rest.empty()) {
    const ssize_t count = ::write(descriptor_, rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(ExitCode::file, "cannot write {}: {}", target_.string(), reason(errno));
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
  buffer_.clear();
}

void AtomicFile::close() {
  flush();
  // Network file systems may report a lost write only here.
  if (::close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR) {
    fail(ExitCode::file, "cannot write {}: {}", target_.string(), reason(errno));
  }
}

void AtomicFile::commit(const PartFile::Verify& verify) {
  if (descriptor_ < 0) fail(ExitCode::internal, "{} was committed twice", target_.string());
  close();
  if (part_) part_->commit(verify);
}

void write_file_atomically(const fs::path& target, std::string_view bytes) {
  AtomicFile file(target);
  file.write(bytes);
  file.commit();
}

}  // namespace attn
