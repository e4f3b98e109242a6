#include "attn/training/average_checkpoints.h"

#include <string>
#include <vector>

#include "attn/core/error.h"
#include "attn/training/checkpoint.h"
#include "model_config_file.h"

namespace attn {
namespace {

namespace fs = std::filesystem;

/// The checkpoint that the others have to agree with.
class Agreement {
 public:
  Agreement(const fs::path& first, const TranslationSystem& system) : first_(first), expected_(system) {}

  void check(const fs::path& path, const TranslationSystem& system) const {
    check_tensors(path, system.model->parameters());
    check_configurations(path, system.config);
    const TextProcessing &text = system.text, &expected = expected_.text;
    check_side(path, "source", text.source_vocabulary, text.source_tokenizer, expected.source_vocabulary,
               expected.source_tokenizer);
    check_side(path, "target", text.target_vocabulary, text.target_tokenizer, expected.target_vocabulary,
               expected.target_tokenizer);
    if (text.steps != expected.steps) {
      refuse(path, fmt::format("data.steps is {}, in {} it is {}", text.steps.value_or(0), first_.string(),
                               expected.steps.value_or(0)));
    }
  }

 private:
  [[noreturn]] static void refuse(const fs::path& path, const std::string& difference) {
    fail(ExitCode::input_data, "{} cannot be averaged with the others: {}", path.string(), difference);
  }

  void check_tensors(const fs::path& path, const ParameterStore& parameters) const {
    const ParameterStore& expected = expected_.model->parameters();
    for (const ParameterHandle& parameter : parameters.all()) {
      const ParameterHandle other = expected.find(parameter->path);
      if (!other) refuse(path, fmt::format("{} has no tensor '{}'", first_.string(), parameter->path));
      if (other->shape != parameter->shape) {
        refuse(path, fmt::format("tensor '{}' is {}, in {} it is {}", parameter->path,
                                 parameter->shape.to_string(), first_.string(), other->shape.to_string()));
      }
    }
    for (const ParameterHandle& parameter : expected.all()) {
      if (!parameters.find(parameter->path))
        refuse(path, fmt::format("it lacks tensor '{}' of {}", parameter->path, first_.string()));
    }
  }

  // Dropout makes no difference to a model that is trained.
  void check_configurations(const fs::path& path, const ModelConfig& config) const {
    const std::vector<std::string> found = model_config_lines(config),
                                   expected = model_config_lines(expected_.config);
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found[i] == expected[i] || found[i].find("dropout=") != std::string::npos) continue;
      refuse(path, fmt::format("its configuration has model.{}, that of {} model.{}", found[i],
                               first_.string(), expected[i]));
    }
  }

  void check_side(const fs::path& path, const char* side, const Vocabulary& vocabulary,
                  const Tokenizer& tokenizer, const Vocabulary& expected,
                  const Tokenizer& expected_tokenizer) const {
    if (!(vocabulary == expected))
      refuse(path, fmt::format("its {} vocabulary is not that of {}", side, first_.string()));
    if (tokenizer.name() != expected_tokenizer.name()) {
      refuse(path, fmt::format("its {} tokenizer is {}, that of {} is {}", side, tokenizer.name(),
                               first_.string(), expected_tokenizer.name()));
    }
    if (tokenizer.resource() != expected_tokenizer.resource())
      refuse(path, fmt::format("it splits {} text by other subwords than {}", side, first_.string()));
  }

  const fs::path& first_;
  const TranslationSystem& expected_;
};

void require_different_files(std::span<const fs::path> paths) {
  if (paths.size() < 2)
    fail(ExitCode::usage, "averaging needs at least two checkpoints, {} given", paths.size());
  for (std::size_t i = 0; i < paths.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      std::error_code ignored;
      if (paths[i] == paths[j] || fs::equivalent(paths[i], paths[j], ignored))
        fail(ExitCode::usage, "{} is named twice among the checkpoints to average", paths[i].string());
    }
  }
}

}  // namespace

TranslationSystem average_checkpoints(std::span<const fs::path> paths,
                                      const std::shared_ptr<Device>& device) {
  require_different_files(paths);
  const fs::path& first = paths.front();
  TranslationSystem result = load_translation_system(first, device, read_checkpoint_information(first).dtype);
  const auto parameters = result.model->parameters().all();
  std::vector<std::vector<double>> sums;
  for (const ParameterHandle& parameter : parameters) sums.push_back(parameter->tensor.to_vector<double>());

  const Agreement agreement(first, result);
  for (const fs::path& path : paths.subspan(1)) {
    const TranslationSystem other = load_translation_system(path, device, DType::f64);
    agreement.check(path, other);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const std::vector<double> values =
          other.model->parameters().find(parameters[i]->path)->tensor.to_vector<double>();
      for (std::size_t k = 0; k < values.size(); ++k) sums[i][k] += values[k];
    }
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    for (double& value : sums[i]) value /= static_cast<double>(paths.size());
    parameters[i]->tensor.assign<double>(sums[i]);
  }
  result.checkpoint_sha256.clear();
  return result;
}

}  // namespace attn
