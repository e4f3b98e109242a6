#include "model_comparison.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <sstream>

#include "attn/autograd/tape.h"
#include "attn/decoding/translator.h"
#include "attn/experiment/setup.h"
#include "model_trace.h"

namespace attn::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The kernel then counts the most resident memory anew.
void reset_resident_peak() {
  std::ofstream("/proc/self/clear_refs") << "5";
}

std::size_t resident_peak() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("VmHWM:")) continue;
    std::istringstream words(line.substr(6));
    std::size_t kilobytes = 0;
    words >> kilobytes;
    return kilobytes * 1024;
  }
  return 0;
}

// The rate of the fastest half: the first updates allocate, and another program may have taken the processor.
double rate_of(std::vector<double> rates) {
  if (rates.empty()) return 0;
  std::sort(rates.begin(), rates.end());
  return rates[rates.size() * 3 / 4];
}

void train(const ExperimentConfig& config, const PreparedData& data, TranslationSystem& system,
           const ComparisonOptions& options, BackendRun& run) {
  const std::int64_t per_epoch = updates_per_epoch(config, data.train.encoded);
  TrainerConfig settings = trainer_config(config, per_epoch);
  settings.max_updates = options.updates;
  settings.epochs = std::max(settings.epochs, options.updates / std::max<std::int64_t>(1, per_epoch) + 1);
  settings.validate_every = 0;
  Trainer trainer(*system.model, data.train.encoded, settings);
  std::vector<double> rates;
  auto start = Clock::now();
  TrainerHooks hooks;
  hooks.after_update = [&](const UpdateReport& report) {
    const double seconds = seconds_since(start);
    if (seconds > 0) rates.push_back(static_cast<double>(report.tokens) / seconds);
    run.losses.push_back(report.loss);
    if (options.progress) options.progress(run.backend, report.update);
    start = Clock::now();
  };
  trainer.run(hooks);
  run.training_tokens_per_second = rate_of(rates);
}

const Corpus& held_out(const PreparedData& data) {
  if (!data.test.empty()) return data.test.corpus;
  return data.valid.empty() ? data.train.corpus : data.valid.corpus;
}

void translate(const ExperimentConfig& config, const PreparedData& data, const TranslationSystem& system,
               const ComparisonOptions& options, BackendRun& run) {
  std::vector<std::string> sources;
  for (const SentencePair& pair : held_out(data).pairs) {
    if (sources.size() == options.lines) break;
    sources.push_back(pair.source);
  }
  if (sources.empty()) return;
  TranslatorOptions translating;
  translating.search.beam = config.report.beam;
  translating.search.max_length = config.report.max_length > 0
                                      ? config.report.max_length
                                      : static_cast<std::int64_t>(system.text.steps.value_or(0));
  const Translator translator(*system.model, system.config, system.text, translating);
  const auto start = Clock::now();
  std::size_t tokens = 0;
  for (const Translation& translation : translator.translate(sources)) {
    tokens += translation.best.front().hypothesis.tokens.size();
    run.translations.push_back(translation.text());
  }
  run.translating_tokens_per_second = static_cast<double>(tokens) / std::max(seconds_since(start), 1e-9);
}

void compare_with(const BackendRun& first, BackendRun& run) {
  for (std::size_t i = 0; i < std::min(first.losses.size(), run.losses.size()); ++i) {
    const double difference =
        std::abs(run.losses[i] - first.losses[i]) / std::max(std::abs(first.losses[i]), 1e-30);
    if (difference <= run.largest_difference) continue;
    run.largest_difference = difference;
    run.largest_at = static_cast<std::int64_t>(i) + 1;
  }
  std::size_t same = 0;
  for (std::size_t i = 0; i < run.translations.size(); ++i)
    same += run.translations[i] == first.translations[i] ? 1u : 0u;
  if (!run.translations.empty())
    run.identical_lines = static_cast<double>(same) / static_cast<double>(run.translations.size());
}

}  // namespace

std::vector<BackendRun> compare_backends(const ExperimentConfig& config, const PreparedData& data,
                                         const ComparisonOptions& options) {
  std::vector<BackendRun> runs;
  std::optional<Trace> expected;
  for (const std::string& backend : options.backends) {
    reset_resident_peak();
    ExperimentConfig own = config;
    own.backend.name = backend;
    TranslationSystem system = build_system(own, data, "");
    BackendRun run;
    const Device& device = *system.model->device();
    run.backend = device.backend().name();
    run.file = device.backend().file().string();
    run.device = device.name();
    train(own, data, system, options, run);
    translate(own, data, system, options, run);
    run.device_bytes = device.memory().peak_in_use;
    run.resident_bytes = resident_peak();
    if (!runs.empty()) compare_with(runs.front(), run);
    if (options.trace) {
      const Trace trace =
          expected ? trace_update(own, data, system, &*expected) : trace_update(own, data, system, nullptr);
      if (expected)
        run.divergence = first_divergence(*expected, trace, options.bound, &run.largest_traced);
      else
        expected = trace;
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace attn::bench
