#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "attn/models/translation_model.h"

namespace attn::test {

/// The devices that models are tested on: the reference backend, and Eigen where its plugin is there.
std::vector<std::shared_ptr<Device>> decoding_devices();

/// The three types of model, and a pre-norm Transformer with learned positions.
std::vector<ModelConfig> small_configs();
std::string name_of(const ModelConfig& config);

/// A model whose output layer is scaled up, so that its choices are clear.
std::unique_ptr<TranslationModel> make_small_model(const ModelConfig& config,
                                                   const std::shared_ptr<Device>& device,
                                                   std::int64_t vocabulary = 9, std::uint64_t seed = 3,
                                                   DType type = DType::f64);

/// Adds `amount` to the logit of one token at every step.
void favour(TranslationModel& model, std::int32_t token, double amount);

/// Sources as a padded matrix.
struct Sources {
  std::vector<std::vector<std::int32_t>> rows;
  std::int64_t steps = 0;
  std::vector<std::int32_t> ids, valid_lengths;

  explicit Sources(std::vector<std::vector<std::int32_t>> sentences);
  TokenBatch batch() const { return {static_cast<std::int64_t>(rows.size()), steps, ids, valid_lengths}; }
};

/// Sentences of lengths 1 to `longest` in an order that is not sorted, <eos> last.
std::vector<std::vector<std::int32_t>> some_sentences(std::size_t count, std::int64_t vocabulary = 9,
                                                      std::size_t longest = 7);

}  // namespace attn::test
