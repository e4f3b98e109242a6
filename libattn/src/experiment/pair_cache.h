#pragma once
// Encoded training pairs on disk, with the vocabularies that they are encoded by, for this run and later
// ones.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "attn/experiment/data.h"
#include "attn/experiment/encoded_file.h"

namespace attn {

/// An entry of the cache: KEY.ids, an EncodedFile, and KEY.facts, which is written last and belongs to it.
/// KEY is a digest of the files' contents and of all settings that decide about ids. One process makes an
/// entry; others that want the same one wait for it.
class PairCache {
 public:
  /// What an entry holds beside the ids.
  struct Facts {
    std::string name;  ///< of the training files
    std::string sha256;
    EncodedSide source, target;
    TextProcessing text;
    LintReport lint;  ///< of the training data, and overlaps with it
  };

  /// Makes the folder, reads the files for the key, and waits for the entry. Throws Error(file).
  PairCache(const DataConfig& config, std::uint64_t seed);
  PairCache(const PairCache&) = delete;
  PairCache& operator=(const PairCache&) = delete;
  ~PairCache();

  /// The entry, if it is there and undamaged.
  std::optional<Facts> load();

  /// Where the writer of the pairs writes.
  std::filesystem::path ids_file() const { return folder_ / (key_ + ".ids"); }

  /// Opens what was written; also after load().
  std::shared_ptr<const EncodedFile> open() const { return std::make_shared<EncodedFile>(ids_file()); }

  /// Completes the entry.
  void save(const Facts& facts, const EncodedFile& ids) const;

 private:
  std::filesystem::path facts_file() const { return folder_ / (key_ + ".facts"); }

  std::filesystem::path folder_;
  std::string key_;
  int lock_ = -1;
};

}  // namespace attn
