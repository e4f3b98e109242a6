#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "attn/core/error.h"
#include "text/byte_source.h"

namespace attn {
namespace {

constexpr unsigned char gzip_magic_1 = 0x1f;
constexpr unsigned char gzip_magic_2 = 0x8b;

/// Gives back the bytes that were looked at, then the rest.
class ReplaySource final : public ByteSource {
 public:
  ReplaySource(std::string first_bytes, std::unique_ptr<ByteSource> rest)
      : first_bytes_(std::move(first_bytes)), rest_(std::move(rest)) {}

  std::size_t read(std::span<char> out) override {
    if (first_bytes_.empty()) return rest_->read(out);
    const std::size_t count = std::min(out.size(), first_bytes_.size());
    std::copy_n(first_bytes_.begin(), count, out.begin());
    first_bytes_.erase(0, count);
    return count;
  }

 private:
  std::string first_bytes_;
  std::unique_ptr<ByteSource> rest_;
};

class GzipSource final : public ByteSource {
 public:
  GzipSource(std::unique_ptr<ByteSource> packed, std::string name)
      : packed_(std::move(packed)), name_(std::move(name)) {
    constexpr int window_bits_gzip = 15 + 16;
    if (inflateInit2(&stream_, window_bits_gzip) != Z_OK)
      fail(ExitCode::internal, "zlib could not be started");
  }
  ~GzipSource() override { inflateEnd(&stream_); }

  std::size_t read(std::span<char> out) override {
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    while (true) {
      if (member_ended_ && !begin_next_member()) return 0;
      if (stream_.avail_in == 0 && !refill()) {
        fail(ExitCode::file, "cannot read '{}': the gzip data is cut off; copy or download the file again",
             name_);
      }
      const int status = inflate(&stream_, Z_NO_FLUSH);
      if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) {
        fail(ExitCode::file, "cannot read '{}': the gzip data is damaged ({})", name_,
             stream_.msg != nullptr ? stream_.msg : "unknown reason");
      }
      member_ended_ = status == Z_STREAM_END;
      const std::size_t produced = out.size() - stream_.avail_out;
      if (produced > 0) return produced;
    }
  }

 private:
  bool refill() {
    const std::size_t count = packed_->read(input_);
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(count);
    return count > 0;
  }

  /// False at the end of the file. Zero bytes after a member are padding, as from a tape.
  bool begin_next_member() {
    while (true) {
      if (stream_.avail_in == 0 && !refill()) return false;
      if (*stream_.next_in != 0) break;
      ++stream_.next_in;
      --stream_.avail_in;
    }
    if (*stream_.next_in != gzip_magic_1) {
      fail(ExitCode::file, "cannot read '{}': bytes follow the gzip data that are not gzip", name_);
    }
    inflateReset(&stream_);
    member_ended_ = false;
    return true;
  }

  std::unique_ptr<ByteSource> packed_;
  std::string name_;
  z_stream stream_ = {};
  std::array<char, 1 << 16> input_;
  bool member_ended_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> unpack_if_gzip(std::unique_ptr<ByteSource> source, const std::string& name) {
  std::string first_bytes;
  std::array<char, 2> bytes;
  // A first byte that is not gzip's settles the question, so that a reader of a pipe does not wait for a
  // second.
  while (first_bytes.size() < 2 &&
         (first_bytes.empty() || first_bytes[0] == static_cast<char>(gzip_magic_1))) {
    const std::size_t count = source->read(std::span<char>(bytes).first(2 - first_bytes.size()));
    if (count == 0) break;
    first_bytes.append(bytes.data(), count);
  }
  const bool packed = first_bytes.size() == 2 && first_bytes[0] == static_cast<char>(gzip_magic_1) &&
                      first_bytes[1] == static_cast<char>(gzip_magic_2);
  auto replay = std::make_unique<ReplaySource>(std::move(first_bytes), std::move(source));
  if (packed) return std::make_unique<GzipSource>(std::move(replay), name);
  return replay;
}

}  // namespace attn
