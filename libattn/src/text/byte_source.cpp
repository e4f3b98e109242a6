#include "text/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "attn/core/error.h"

namespace attn {
namespace {

std::string system_reason(int error) {
  return std::generic_category().message(error);
}

class FileSource final : public ByteSource {
 public:
  FileSource(int descriptor, bool owned, std::string name)
      : descriptor_(descriptor), owned_(owned), name_(std::move(name)) {}
  ~FileSource() override {
    if (owned_) ::close(descriptor_);
  }

  std::size_t read(std::span<char> out) override {
    while (true) {
      const ssize_t count = ::read(descriptor_, out.data(), out.size());
      if (count >= 0) return static_cast<std::size_t>(count);
      if (errno != EINTR) fail(ExitCode::file, "cannot read '{}': {}", name_, system_reason(errno));
    }
  }

 private:
  int descriptor_;
  bool owned_;
  std::string name_;
};

class StreamSource final : public ByteSource {
 public:
  explicit StreamSource(std::istream& stream) : stream_(stream) {}

  std::size_t read(std::span<char> out) override {
    std::streambuf* const buffer = stream_.rdbuf();
    using Traits = std::streambuf::traits_type;
    const auto first = buffer->sbumpc();
    if (Traits::eq_int_type(first, Traits::eof())) return 0;
    out[0] = Traits::to_char_type(first);
    const std::streamsize room = static_cast<std::streamsize>(out.size()) - 1;
    const std::streamsize at_hand = std::min(buffer->in_avail(), room);
    return 1 + (at_hand > 0 ? static_cast<std::size_t>(buffer->sgetn(out.data() + 1, at_hand)) : 0);
  }

 private:
  std::istream& stream_;
};

}  // namespace

std::unique_ptr<ByteSource> open_file_source(const std::filesystem::path& path, const std::string& name) {
  if (path == "-") return std::make_unique<FileSource>(STDIN_FILENO, false, name);
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    if (errno == ENOENT) fail(ExitCode::file, "cannot open '{}': there is no such file", name);
    fail(ExitCode::file, "cannot open '{}': {}", name, system_reason(errno));
  }
  auto source = std::make_unique<FileSource>(descriptor, true, name);
  struct stat status = {};
  if (::fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode)) {
    fail(ExitCode::file, "cannot read '{}': it is a directory; name a file in it", name);
  }
  return source;
}

std::unique_ptr<ByteSource> open_stream_source(std::istream& stream) {
  return std::make_unique<StreamSource>(stream);
}

}  // namespace attn
