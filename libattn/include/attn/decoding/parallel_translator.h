#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attn/decoding/translator.h"

namespace attn {

/// Several translators that share the work of one text, each in a thread of its own. What comes out is the
/// same for every number of workers, since what comes out for a line does not depend on its batch.
class ParallelTranslator {
 public:
  /// Makes the translator of worker `worker`, counted from 0. No two may share a device.
  using Make = std::function<std::shared_ptr<const Translator>(std::size_t worker)>;

  /// Makes the translator of worker 0; the others when there is work for them. Throws Error(usage) for no
  /// worker, and what `make` throws.
  ParallelTranslator(std::size_t workers, Make make);

  /// As Translator::translate. Lines are cut into enough batches to keep all workers busy; the calling thread
  /// is worker 0, and a single batch is translated in it alone. TranslatorOptions::after_batch is called by
  /// all workers, but never by two at once; what it or a worker throws ends the work and is thrown here.
  std::vector<Translation> translate(std::span<const std::string> lines, std::size_t first_line = 1,
                                     std::span<const std::string> prefixes = {});
  /// As Translator::score, in the same way.
  std::vector<ScoredLine> score(std::span<const std::string> sources, std::span<const std::string> targets,
                                std::size_t first_line = 1);

  /// The translator of worker 0.
  const Translator& first() const noexcept { return *translators_.front(); }
  /// Most workers at a time. Less than asked for once there was no memory for another one.
  std::size_t workers() const noexcept { return workers_; }
  /// Workers that have been made so far.
  std::size_t workers_made() const noexcept { return translators_.size(); }

 private:
  using Work = std::function<void(const Translator& translator, std::span<const std::size_t> batch)>;
  std::size_t most_lines(std::size_t lines) const;
  void make_workers(std::size_t count);
  void run(const Translator::Batches& batches, const Work& work);

  std::size_t workers_;
  Make make_;
  std::vector<std::shared_ptr<const Translator>> translators_;
};

}  // namespace attn
