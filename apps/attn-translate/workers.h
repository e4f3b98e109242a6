#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "attn/decoding/translator.h"
#include "models.h"
#include "options.h"

namespace attn::translate {

/// The model, once for each worker. The checkpoint is read once; every further worker has a device of its own
/// with a copy of the parameters. On a device whose memory the host can read, the workers are the threads
/// asked for, each computing with one; any other device has one worker.
class Workers {
 public:
  /// Opens the backend and loads the model. Throws as Device::open and load_translation_system.
  explicit Workers(const Options& options);

  std::size_t count() const noexcept { return count_; }
  const TranslationSystem& system() const noexcept { return models_.system; }
  const std::string& model_sha256() const noexcept { return system().checkpoint_sha256; }
  /// Of all models of an ensemble together.
  std::int64_t parameters() const noexcept { return models_.parameters; }
  const std::string& backend() const { return device_->backend().name(); }
  const Device& device() const noexcept { return *device_; }

  /// The translator of a worker; worker 0 has the model that was loaded. No worker may be at work meanwhile.
  std::shared_ptr<const Translator> translator(std::size_t worker,
                                               std::function<void(std::size_t lines)> after_batch) const;

 private:
  std::shared_ptr<Device> open_device() const;

  const Options& options_;
  std::shared_ptr<Device> device_;
  std::size_t count_ = 1;
  std::shared_ptr<const WordDictionary> unknown_words_;  ///< null without --replace-unknown
  LoadedModels models_;
};

}  // namespace attn::translate
