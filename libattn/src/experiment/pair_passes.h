#pragma once
#include <functional>

#include "attn/experiment/experiment_config.h"
#include "attn/text/corpus.h"
#include "corpus_lint.h"

namespace attn {

/// The pairs of a corpus, as often as they are needed: kept in memory, or read from their files each time.
class PairPasses {
 public:
  /// Reads all pairs once, shows them to `lint` if there is one, and keeps them if `keep`. `limit` lines, 0
  /// for all. Throws what PairReader throws.
  PairPasses(CorpusFiles files, const DataConfig& config, std::int64_t limit, bool keep, CorpusLint* lint);

  const std::string& name() const noexcept { return corpus_.name; }
  std::size_t size() const noexcept { return size_; }

  /// Hands out all pairs in their order. Throws Error(input_data) when files have changed meanwhile.
  void each(const std::function<void(const SentencePair&)>& visit) const;

  /// Gives away what was read; without pairs unless they were kept.
  Corpus take() { return std::move(corpus_); }

 private:
  PairReader open() const;

  CorpusFiles files_;
  TsvOptions options_;
  bool kept_;
  std::size_t size_ = 0;
  Corpus corpus_;
};

}  // namespace attn
