#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attn/text/corpus.h"
#include "attn/text/lines.h"
#include "attn/text/tokenizer.h"
#include "attn/text/vocabulary.h"

namespace attn {

/// A batch of sentence pairs as ids. Matrices are dense, row-major, one row a sentence, padded with
/// Vocabulary::pad.
struct Batch {
  std::int64_t size = 0;                           ///< sentences
  std::int64_t source_steps = 0;                   ///< columns of `source`
  std::int64_t target_steps = 0;                   ///< columns of `decoder_input` and `labels`
  std::vector<std::int32_t> source;                ///< [size, source_steps], each row ends in eos unless cut
  std::vector<std::int32_t> source_valid_lengths;  ///< [size], eos counted
  std::vector<std::int32_t> decoder_input;  ///< [size, target_steps]: bos, then labels but for the last
  std::vector<std::int32_t> labels;         ///< [size, target_steps], each row ends in eos unless cut
  std::vector<std::int32_t> target_valid_lengths;  ///< [size], eos counted
  std::vector<std::size_t> lines;                  ///< [size], lines of the corpus file, counted from 1
  std::int64_t target_tokens = 0;                  ///< labels that are not padding
};

/// How sentences become rows of ids. At most one of the two limits may be set.
struct EncodingOptions {
  /// Every row is ids + eos, cut or padded to exactly so many columns, as in Dive into Deep Learning
  /// (num_steps): a sentence that is cut has no eos.
  std::optional<std::size_t> steps = std::nullopt;
  /// Rows are as long as the longest of their batch, and never longer than this, eos counted: a longer
  /// sentence is cropped, keeps its eos and is counted.
  std::optional<std::size_t> max_length = std::nullopt;
};

/// One side of a corpus as ids, and what was cropped and unknown in it.
struct EncodedSide {
  std::size_t tokens = 0;   ///< of the text before cropping, eos not counted
  std::size_t unknown = 0;  ///< of these, outside the vocabulary
  LineList cropped_lines;   ///< lines of the sentences that were cut or cropped
};

/// Makes the ids of a sentence a row: appends eos, then cuts or crops as `options` say. Counts in `side`.
void finish_row(std::vector<std::int32_t>& ids, std::size_t line, const EncodingOptions& options,
                EncodedSide& side);

/// A sentence pair as ids; each row ends in eos unless cut by EncodingOptions::steps.
struct EncodedPair {
  std::vector<std::int32_t> source, target;
  std::size_t line = 0;
};

/// Lengths of the rows of a pair, eos counted.
struct PairLength {
  std::uint32_t source = 0, target = 0;
};

/// Rows of ids that lie outside memory.
class PairStorage {
 public:
  virtual ~PairStorage() = default;

  /// Lengths of all pairs.
  virtual std::vector<PairLength> lengths() const = 0;

  /// Copies the rows of a pair to `source` and `target`, which have its lengths, and returns its line.
  virtual std::size_t read(std::size_t index, std::span<std::int32_t> source,
                           std::span<std::int32_t> target) const = 0;
};

/// Sentence pairs as ids, ready to be made into batches.
/// Its rows are in memory, or in a storage of which only the lengths are kept, 8 bytes a pair. Batches are
/// the same.
class EncodedCorpus {
 public:
  /// Throws Error (config) when both limits are set or one is 0.
  explicit EncodedCorpus(EncodingOptions options = {});

  /// Encodes tokenised sentences: source[i], target[i] from line lines[i]. The three have equal sizes.
  EncodedCorpus(std::span<const std::vector<std::string>> source,
                std::span<const std::vector<std::string>> target, std::span<const std::size_t> lines,
                const Vocabulary& source_vocabulary, const Vocabulary& target_vocabulary,
                EncodingOptions options = {});

  /// The pairs of a storage, with what was counted when its rows were made with these options.
  EncodedCorpus(std::shared_ptr<const PairStorage> storage, EncodingOptions options, EncodedSide source,
                EncodedSide target);

  /// Appends a pair of ids without eos, which is added here. Not for a corpus with a storage.
  void add(std::vector<std::int32_t> source, std::vector<std::int32_t> target, std::size_t line);

  std::size_t size() const noexcept { return lengths_.size(); }
  const EncodedSide& source() const noexcept { return source_; }
  const EncodedSide& target() const noexcept { return target_; }
  const PairLength& length(std::size_t index) const { return lengths_.at(index); }
  EncodedPair pair(std::size_t index) const;
  std::size_t line(std::size_t index) const { return pair(index).line; }

  /// Labels an epoch, eos counted, padding not.
  std::int64_t target_tokens() const noexcept { return target_tokens_; }

  /// Makes a batch of the pairs with these indices, in this order. Throws Error (internal) without indices.
  Batch make_batch(std::span<const std::size_t> indices) const;

 private:
  std::size_t copy(std::size_t index, std::span<std::int32_t> source, std::span<std::int32_t> target) const;

  EncodingOptions options_;
  EncodedSide source_;
  EncodedSide target_;
  std::vector<PairLength> lengths_;
  // In memory: rows of each pair, source before target, and where they begin. Otherwise empty.
  std::vector<std::int32_t> ids_;
  std::vector<std::size_t> begins_, lines_;
  std::shared_ptr<const PairStorage> storage_;
  std::int64_t target_tokens_ = 0;
};

/// How pairs are grouped. Exactly one of the two sizes is set.
struct BatchOptions {
  /// Sentences a batch; the last batch may be smaller.
  std::optional<std::size_t> batch_size = std::nullopt;
  /// Most positions a batch, padding counted: sentences * (source + target columns). A single sentence that
  /// is longer makes a batch of its own.
  std::optional<std::size_t> batch_tokens = std::nullopt;
  /// A new order each epoch; otherwise that of the corpus.
  bool shuffle = true;
  /// Similar lengths together: sorts inside windows of the shuffled order, then shuffles the batches. Without
  /// shuffle, sorts the whole corpus.
  bool sort_by_length = false;
  /// Sentences a window.
  std::size_t sort_window = 4096;
  /// Instead of sort_by_length: sorts the whole corpus by both lengths, so that batches need little padding.
  /// With shuffle, which pairs meet in a batch and the order of the batches change from epoch to epoch.
  bool bucket_by_length = false;
};

/// The batches of one epoch, addressed by number so that training can go on at batch k.
class BatchPlan {
 public:
  /// A batch: positions [begin, end) of the order.
  struct Range {
    std::size_t begin = 0, end = 0;
  };

  BatchPlan(const EncodedCorpus& corpus, std::vector<std::size_t> order, std::vector<Range> batches)
      : corpus_(&corpus), order_(std::move(order)), batches_(std::move(batches)) {}

  std::size_t size() const noexcept { return batches_.size(); }

  /// The indices into the corpus of batch `k`.
  std::span<const std::size_t> indices(std::size_t k) const {
    const Range& range = batches_.at(k);
    return std::span(order_).subspan(range.begin, range.end - range.begin);
  }

  Batch batch(std::size_t k) const { return corpus_->make_batch(indices(k)); }

  /// Positions of batch `k`, padding counted: sentences * (source + target columns).
  std::size_t positions(std::size_t k) const;

  /// Share of the positions of all batches that is padding.
  double padding() const;

 private:
  const EncodedCorpus* corpus_;
  std::vector<std::size_t> order_;
  std::vector<Range> batches_;
};

/// Makes the plan of each epoch. The order depends on the corpus, the options, the seed and the number of the
/// epoch alone, on no machine or library.
class BatchSampler {
 public:
  /// `corpus` must outlive the sampler and its plans. Throws Error (config) when not exactly one size is set
  /// or a size is 0, input_data when the corpus is empty.
  BatchSampler(const EncodedCorpus& corpus, BatchOptions options, std::uint64_t seed);

  BatchPlan epoch(std::uint64_t number) const;

 private:
  void split(std::span<const std::size_t> order, BatchPlan::Range part,
             std::vector<BatchPlan::Range>& batches) const;

  const EncodedCorpus* corpus_;
  BatchOptions options_;
  std::uint64_t seed_;
};

}  // namespace attn
