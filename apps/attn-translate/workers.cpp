#include "workers.h"

#include <algorithm>
#include <thread>

#include "attn/core/error.h"

namespace attn::translate {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20U;

}  // namespace

Workers::Workers(const Options& options)
    : options_(options), device_(Device::open(options.backend, {.device = options.device})) {
  if (device_->host_accessible()) {
    const auto cores = std::max(1U, std::thread::hardware_concurrency());
    count_ = options.threads > 0 ? static_cast<std::size_t>(options.threads) : cores;
  }
  if (options.replace_unknown) {
    unknown_words_ = std::make_shared<const WordDictionary>(
        options.dictionary.empty() ? WordDictionary() : WordDictionary::read(options.dictionary));
  }
  if (options.memory_limit) device_ = open_device();
  models_ = load_models(options.model, options.search, device_);
}

std::shared_ptr<Device> Workers::open_device() const {
  DeviceOptions device{.device = options_.device};
  device.memory_limit = options_.memory_limit.value_or(0) * mebibyte / count_;
  return Device::open(options_.backend, device);
}

std::shared_ptr<const Translator> Workers::translator(
    std::size_t worker, std::function<void(std::size_t lines)> after_batch) const {
  struct Copy {
    std::unique_ptr<TranslationModel> model;
    std::optional<Translator> translator;
  };
  auto copy = std::make_shared<Copy>();
  if (worker > 0) copy->model = copy_of(models_, open_device());
  TranslatorOptions translator = translator_options(options_);
  translator.after_batch = std::move(after_batch);
  translator.unknown_words = unknown_words_;
  copy->translator.emplace(copy->model ? *copy->model : *system().model, system().config, system().text,
                           std::move(translator));
  return {copy, &*copy->translator};
}

}  // namespace attn::translate
