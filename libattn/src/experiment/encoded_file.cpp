#include "attn/experiment/encoded_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "attn/core/error.h"
#include "attn/core/sha256.h"

namespace attn {
namespace {

constexpr std::string_view magic = "attn-ids";
constexpr std::uint32_t format_version = 1, byte_order = 0x01020304;
constexpr std::size_t head_bytes = 16, digest_digits = 64;
constexpr std::size_t trailer_bytes = 2 * sizeof(std::uint64_t) + digest_digits;
constexpr std::size_t record_head_bytes = sizeof(std::uint64_t) + sizeof(std::uint32_t);
constexpr std::size_t pair_bytes = sizeof(std::uint64_t) + sizeof(PairLength);  // beside its record
static_assert(sizeof(PairLength) == 8);

template<typename T>
std::string_view bytes_of(std::span<const T> items) {
  return {reinterpret_cast<const char*>(items.data()), items.size_bytes()};
}

template<typename T>
std::string_view bytes_of(const T& item) {
  return bytes_of(std::span<const T>(&item, 1));
}

std::uint32_t checksum_of(std::string_view bytes) {
  return static_cast<std::uint32_t>(
      ::crc32_z(0, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

std::string head() {
  std::string bytes(magic);
  bytes += bytes_of(format_version);
  bytes += bytes_of(byte_order);
  return bytes;
}

std::uint64_t record_bytes(const PairLength& length) {
  return record_head_bytes + sizeof(std::int32_t) * (std::uint64_t{length.source} + length.target);
}

}  // namespace

EncodedFileWriter::EncodedFileWriter(const std::filesystem::path& path) : file_(path) {
  file_.write(head());
}

void EncodedFileWriter::add(std::span<const std::int32_t> source, std::span<const std::int32_t> target,
                            std::size_t line) {
  record_.assign(bytes_of(std::uint64_t{line}));
  record_ += bytes_of(source);
  record_ += bytes_of(target);
  const std::uint32_t checksum = checksum_of(record_);
  record_.insert(sizeof(std::uint64_t), bytes_of(checksum));
  file_.write(record_);
  lengths_.push_back({static_cast<std::uint32_t>(source.size()), static_cast<std::uint32_t>(target.size())});
}

void EncodedFileWriter::commit() {
  Sha256 hash;
  const auto write = [&](std::string_view bytes) {
    hash.update(bytes);
    file_.write(bytes);
  };
  std::uint64_t place = head_bytes;
  for (const PairLength& length : lengths_) {
    write(bytes_of(place));
    place += record_bytes(length);
  }
  write(bytes_of(std::span<const PairLength>(lengths_)));
  file_.write(bytes_of(std::uint64_t{lengths_.size()}));
  file_.write(bytes_of(place));
  file_.write(hash.hex_digest());
  file_.commit();
}

EncodedFile::EncodedFile(std::filesystem::path path) : path_(std::move(path)) {
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) {
    fail(ExitCode::file, "cannot open the encoded pairs {}: {}", path_.string(),
         std::generic_category().message(errno));
  }
  try {
    check();
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

EncodedFile::~EncodedFile() {
  ::close(descriptor_);
}

void EncodedFile::fail_damaged(const std::string& reason) const {
  fail(ExitCode::input_data,
       "{} is no file of encoded pairs of this version, or a damaged one ({}); delete it, and it is made "
       "again",
       path_.string(), reason);
}

void EncodedFile::read_at(std::uint64_t place, void* bytes, std::size_t count) const {
  auto* to = static_cast<char*>(bytes);
  while (count > 0) {
    const ssize_t got = ::pread(descriptor_, to, count, static_cast<off_t>(place));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      fail(ExitCode::file, "cannot read the encoded pairs {}: {}", path_.string(),
           std::generic_category().message(errno));
    }
    if (got == 0) fail_damaged("it is cut");
    to += got;
    place += static_cast<std::uint64_t>(got);
    count -= static_cast<std::size_t>(got);
  }
}

void EncodedFile::check() {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) fail_damaged("no regular file");
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size < head_bytes + trailer_bytes) fail_damaged("too short");
  std::string begin(head_bytes, '\0');
  read_at(0, begin.data(), begin.size());
  if (begin != head()) fail_damaged("another beginning");
  const std::uint64_t trailer = size - trailer_bytes;
  checksum_.resize(digest_digits);
  read_at(trailer, &pairs_, sizeof(pairs_));
  read_at(trailer + sizeof(pairs_), &places_at_, sizeof(places_at_));
  read_at(size - digest_digits, checksum_.data(), digest_digits);
  if (places_at_ < head_bytes || places_at_ > trailer || (trailer - places_at_) % pair_bytes != 0 ||
      (trailer - places_at_) / pair_bytes != pairs_)
    fail_damaged("sizes that do not agree");
  Sha256 hash;
  std::vector<char> buffer(std::size_t{1} << 16U);
  for (std::uint64_t place = places_at_; place < trailer;) {
    const std::size_t count = std::min<std::uint64_t>(buffer.size(), trailer - place);
    read_at(place, buffer.data(), count);
    hash.update(std::string_view(buffer.data(), count));
    place += count;
  }
  if (hash.hex_digest() != checksum_) fail_damaged("another checksum");
}

std::vector<PairLength> EncodedFile::lengths() const {
  std::vector<PairLength> lengths(pairs_);
  read_at(places_at_ + pairs_ * sizeof(std::uint64_t), lengths.data(), pairs_ * sizeof(PairLength));
  return lengths;
}

std::size_t EncodedFile::read(std::size_t index, std::span<std::int32_t> source,
                              std::span<std::int32_t> target) const {
  if (index >= pairs_) fail(ExitCode::internal, "pair {} of {} pairs was asked for", index, pairs_);
  std::uint64_t place = 0;
  read_at(places_at_ + index * sizeof(place), &place, sizeof(place));
  std::string record(record_head_bytes + source.size_bytes() + target.size_bytes(), '\0');
  read_at(place, record.data(), record.size());
  std::uint64_t line = 0;
  std::uint32_t checksum = 0;
  std::memcpy(&line, record.data(), sizeof(line));
  std::memcpy(&checksum, record.data() + sizeof(line), sizeof(checksum));
  std::memcpy(source.data(), record.data() + record_head_bytes, source.size_bytes());
  std::memcpy(target.data(), record.data() + record_head_bytes + source.size_bytes(), target.size_bytes());
  record.erase(sizeof(line), sizeof(checksum));
  if (checksum_of(record) != checksum) fail_damaged(fmt::format("the record of pair {}", index + 1));
  return line;
}

}  // namespace attn
