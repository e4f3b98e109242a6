#pragma once
#include <memory>
#include <string>
#include <vector>

#include "attn/models/translation_model.h"
#include "attn/ops/ops.h"
#include "support/golden_module.h"

namespace attn::test {

constexpr std::int32_t pad_id = 1, bos_id = 2, eos_id = 3;

/// Sentences that own what a TokenBatch refers to.
class Sentences {
 public:
  /// Rows padded to the longest one, or to `steps` if that is more.
  explicit Sentences(const std::vector<std::vector<std::int32_t>>& rows, std::size_t steps = 0);

  TokenBatch batch() const { return {static_cast<std::int64_t>(lengths_.size()), steps_, ids_, lengths_}; }

 private:
  std::int64_t steps_ = 0;
  std::vector<std::int32_t> ids_, lengths_;
};

/// A small model of each kind that exists, with every option that changes its structure in at least one.
struct NamedConfig {
  std::string name;
  ModelConfig config;
};
std::vector<NamedConfig> small_models(double dropout);
/// Those of them that are recurrent.
std::vector<NamedConfig> small_recurrent_models(double dropout);

constexpr VocabularySizes small_vocabularies{9, 9};
std::unique_ptr<TranslationModel> make_small(const ModelConfig& config, const std::shared_ptr<Device>& device,
                                             DType type = DType::f64, std::uint64_t seed = 7);

/// Two source sentences of different length, and their targets.
extern const Sentences small_source, small_input;
extern const std::vector<std::vector<std::int32_t>> small_labels;

/// A training context; `random` is i32 [4].
Tensor dropout_counter(const std::shared_ptr<Device>& device, std::int32_t seed, std::int32_t step);

/// The losses of all tokens, [tokens] in the order of the logits; padding has 0. Labels are one row a
/// sentence.
Tensor token_losses(const TranslationModel::Logits& logits,
                    const std::vector<std::vector<std::int32_t>>& labels, std::int64_t steps);

/// A tensor whose rows stand in the order of the logits, one row a token -> [batch][steps][width] values.
std::vector<double> batch_major(const Tensor& rows, TokenOrder order, std::int64_t batch, std::int64_t steps);

/// The logits of teacher forcing, [batch][steps][vocabulary].
std::vector<double> forced_logits(const TranslationModel& model, const Sentences& source,
                                  const Sentences& input, Context context = Context());

}  // namespace attn::test
