#include "attn/decoding/parallel_translator.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "attn/core/error.h"

namespace attn {
namespace {

// Enough that the last batches, which have the shortest lines, even out what the first ones took.
constexpr std::size_t batches_a_worker = 3;
// Less at a time costs more than another worker gains: every step reads all parameters once, whatever the
// number of lines.
constexpr std::size_t fewest_lines = 8;

}  // namespace

ParallelTranslator::ParallelTranslator(std::size_t workers, Make make)
    : workers_(workers), make_(std::move(make)) {
  if (workers_ == 0) fail(ExitCode::usage, "translating needs at least one worker");
  translators_.push_back(make_(0));
}

std::size_t ParallelTranslator::most_lines(std::size_t lines) const {
  if (workers_ == 1) return 0;
  const std::size_t batches = workers_ * batches_a_worker;
  return std::max((lines + batches - 1) / batches, fewest_lines);
}

void ParallelTranslator::make_workers(std::size_t count) {
  while (translators_.size() < std::min(count, workers_)) {
    try {
      translators_.push_back(make_(translators_.size()));
    } catch (const OutOfMemory&) {
      workers_ = translators_.size();
    } catch (const std::bad_alloc&) {
      workers_ = translators_.size();
    }
  }
}

void ParallelTranslator::run(const Translator::Batches& batches, const Work& work) {
  make_workers(batches.size());
  const auto& after_batch = first().options().after_batch;
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto run_worker = [&](std::size_t worker) {
    try {
      for (std::size_t i = next++; i < batches.size(); i = next++) {
        work(*translators_[worker], batches[i]);
        const std::lock_guard lock(mutex);
        if (after_batch && !failure) after_batch(batches[i].size());
      }
    } catch (...) {
      next = batches.size();
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    const std::size_t workers = std::min(translators_.size(), batches.size());
    try {
      for (std::size_t worker = 1; worker < workers; ++worker) threads.emplace_back(run_worker, worker);
    } catch (const std::system_error&) {
      // The system gives no further thread: those that are there do all the work.
    }
    run_worker(0);
  }
  if (failure) std::rethrow_exception(failure);
}

std::vector<Translation> ParallelTranslator::translate(std::span<const std::string> lines,
                                                       std::size_t first_line,
                                                       std::span<const std::string> prefixes) {
  std::vector<Translation> translations = first().encode(lines, first_line, prefixes);
  const auto to_do = std::count_if(translations.begin(), translations.end(),
                                   [](const Translation& translation) { return !translation.blank; });
  run(first().batches(translations, most_lines(static_cast<std::size_t>(to_do))),
      [&](const Translator& translator, std::span<const std::size_t> batch) {
        translator.translate_batch(translations, batch);
      });
  return translations;
}

std::vector<ScoredLine> ParallelTranslator::score(std::span<const std::string> sources,
                                                  std::span<const std::string> targets,
                                                  std::size_t first_line) {
  std::vector<ScoredLine> scored = first().encode(sources, targets, first_line);
  run(first().batches(scored, most_lines(scored.size())),
      [&](const Translator& translator, std::span<const std::size_t> batch) {
        translator.score_batch(scored, batch);
      });
  return scored;
}

}  // namespace attn
