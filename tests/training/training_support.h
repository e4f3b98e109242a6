#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "attn/training/checkpoint.h"
#include "attn/training/trainer.h"
#include "attn/training/translation_system.h"

namespace attn::test {

/// The backend that training is fastest on, if its plugin was built, otherwise the reference.
std::string fast_backend();
std::shared_ptr<Device> device_of(const std::string& backend, int threads = 1);

/// A small model of each type, with dropout.
std::vector<ModelConfig> trained_models();
std::string name_of(const ModelConfig& config);

constexpr std::int64_t small_vocabulary = 20;

/// Pairs of ids whose target is the source backwards; lengths differ.
EncodedCorpus small_corpus(std::size_t pairs, EncodingOptions options = {});

/// A vocabulary of small_vocabulary entries with tokens that need escapes.
Vocabulary some_vocabulary(const std::string& prefix);

/// A system around a model, as a training run has it.
TranslationSystem system_of(const ModelConfig& config, const std::shared_ptr<Device>& device,
                            DType type = DType::f32, std::uint64_t seed = 3);

/// Adam with clipping, batches of 4 shuffled sentences.
TrainerConfig small_training(std::int64_t epochs);

/// The bit patterns of all parameters and, where they exist, moments.
std::vector<double> state_of(const TranslationModel& model, const Optimizer& optimizer);
std::vector<double> parameters_of(const TranslationModel& model);

}  // namespace attn::test
