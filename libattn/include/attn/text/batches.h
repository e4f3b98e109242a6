#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attn/text/corpus.h"
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
  std::vector<std::vector<std::int32_t>> rows;  ///< each ends in eos unless cut by EncodingOptions::steps
  std::size_t tokens = 0;                       ///< of the text before cropping, eos not counted
  std::size_t unknown = 0;                      ///< of these, outside the vocabulary
  std::vector<std::size_t> cropped_lines;       ///< lines of the sentences that were cut or cropped
};

/// Sentence pairs as ids, ready to be made into batches.
class EncodedCorpus {
 public:
  /// Throws Error (config) when both limits are set or one is 0.
  explicit EncodedCorpus(EncodingOptions options = {});

  /// Encodes tokenised sentences: source[i], target[i] from line lines[i]. The three have equal sizes.
  EncodedCorpus(std::span<const std::vector<std::string>> source,
                std::span<const std::vector<std::string>> target, std::span<const std::size_t> lines,
                const Vocabulary& source_vocabulary, const Vocabulary& target_vocabulary,
                EncodingOptions options = {});

  /// Appends a pair of ids without eos, which is added here.
  void add(std::vector<std::int32_t> source, std::vector<std::int32_t> target, std::size_t line);

  std::size_t size() const noexcept { return lines_.size(); }
  const EncodedSide& source() const noexcept { return source_; }
  const EncodedSide& target() const noexcept { return target_; }
  std::size_t line(std::size_t index) const { return lines_.at(index); }

  /// Labels an epoch, eos counted, padding not.
  std::int64_t target_tokens() const noexcept { return target_tokens_; }

  /// Makes a batch of the pairs with these indices, in this order. Throws Error (internal) without indices.
  Batch make_batch(std::span<const std::size_t> indices) const;

 private:
  void add_row(EncodedSide& side, std::vector<std::int32_t> ids, std::size_t line) const;

  EncodingOptions options_;
  EncodedSide source_;
  EncodedSide target_;
  std::vector<std::size_t> lines_;
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
};

/// The batches of one epoch, addressed by number so that training can go on at batch k.
class BatchPlan {
 public:
  BatchPlan(const EncodedCorpus& corpus, std::vector<std::vector<std::size_t>> batches)
      : corpus_(&corpus), batches_(std::move(batches)) {}

  std::size_t size() const noexcept { return batches_.size(); }

  /// The indices into the corpus of batch `k`.
  std::span<const std::size_t> indices(std::size_t k) const { return batches_.at(k); }

  Batch batch(std::size_t k) const { return corpus_->make_batch(batches_.at(k)); }

 private:
  const EncodedCorpus* corpus_;
  std::vector<std::vector<std::size_t>> batches_;
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
  std::vector<std::vector<std::size_t>> split(std::span<const std::size_t> order) const;

  const EncodedCorpus* corpus_;
  BatchOptions options_;
  std::uint64_t seed_;
};

}  // namespace attn
