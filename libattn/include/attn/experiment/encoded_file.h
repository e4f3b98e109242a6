#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "attn/io/atomic_file.h"
#include "attn/text/batches.h"

namespace attn {

/// Writes sentence pairs as ids to a file that EncodedFile reads. The file appears when it is complete.
///
/// Layout, in the byte order of the machine: 16 bytes of magic; a record for each pair (line number, CRC-32
/// of the rest, ids of the source, ids of the target); the places of the records; their lengths; and a
/// trailer with the number of pairs and the SHA-256 of places and lengths.
class EncodedFileWriter {
 public:
  /// Throws Error(file), as AtomicFile does.
  explicit EncodedFileWriter(const std::filesystem::path& path);

  /// For so many pairs, so that memory is asked for once.
  void reserve(std::size_t pairs) { lengths_.reserve(pairs); }

  /// Appends the rows of a pair, eos included. Throws Error(file).
  void add(std::span<const std::int32_t> source, std::span<const std::int32_t> target, std::size_t line);

  /// Completes the file. Throws Error(file).
  void commit();

 private:
  AtomicFile file_;
  std::vector<PairLength> lengths_;
  std::string record_;
};

/// Sentence pairs in a file, of which nothing stays in memory. May be read from several threads.
class EncodedFile : public PairStorage {
 public:
  /// Checks sizes and checksum. Throws Error: file when it cannot be opened; input_data, with what is wrong,
  /// when it is not what EncodedFileWriter writes on a machine of this byte order.
  explicit EncodedFile(std::filesystem::path path);
  EncodedFile(const EncodedFile&) = delete;
  EncodedFile& operator=(const EncodedFile&) = delete;
  ~EncodedFile() override;

  std::vector<PairLength> lengths() const override;

  /// As PairStorage says. Throws Error(input_data) for a record that is damaged, naming file and remedy.
  std::size_t read(std::size_t index, std::span<std::int32_t> source,
                   std::span<std::int32_t> target) const override;

  /// SHA-256 of places and lengths, 64 hexadecimal digits.
  const std::string& checksum() const noexcept { return checksum_; }

 private:
  void check();
  void read_at(std::uint64_t place, void* bytes, std::size_t count) const;
  [[noreturn]] void fail_damaged(const std::string& reason) const;

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t pairs_ = 0, places_at_ = 0;
  std::string checksum_;
};

}  // namespace attn
