#include "attn/training/checkpoint.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "attn/core/error.h"
#include "attn/core/sha256.h"
#include "attn/io/atomic_file.h"
#include "model_config_file.h"
#include "vocabulary_file.h"

namespace attn {
namespace {

namespace fs = std::filesystem;

constexpr const char* format = "attn.checkpoint";
constexpr int format_version = 1;

// "encoder.blocks.0.W_q.weight" -> "encoder/blocks/0/W_q/weight"
std::string object_path(const std::string& parameter_path) {
  std::string path = parameter_path;
  std::replace(path.begin(), path.end(), '.', '/');
  return path;
}

hdf5::Shape file_shape(const Shape& shape) {
  return {shape.dims().begin(), shape.dims().end()};
}

template<typename T>
void add_values(Sha256& digest, const std::string& path, const std::vector<T>& values) {
  digest.update(path).update(values.size());
  digest.update(std::string_view(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)));
}

template<typename T>
hdf5::Dataset write_values(hdf5::Group& group, const std::string& path, const Tensor& tensor,
                           Sha256& digest) {
  const std::vector<T> values = tensor.to_vector<T>();
  add_values(digest, path, values);
  return group.write(path, values, file_shape(tensor.shape()), hdf5::Storage::checked());
}

hdf5::Dataset write_tensor(hdf5::Group& group, const std::string& path, const Tensor& tensor,
                           Sha256& digest) {
  if (tensor.dtype() == DType::f64) return write_values<double>(group, path, tensor, digest);
  return write_values<float>(group, path, tensor, digest);
}

template<typename T>
void read_values(const hdf5::Dataset& dataset, const std::string& path, const Tensor& tensor,
                 Sha256& digest) {
  const std::vector<T> values = dataset.read<T>();
  add_values(digest, path, values);
  tensor.assign<T>(values);
}

void read_tensor(const hdf5::Group& group, const std::string& path, const Tensor& tensor, Sha256& digest) {
  const hdf5::Dataset dataset = group.dataset(path);
  if (dataset.type() == "f32")
    read_values<float>(dataset, path, tensor, digest);
  else
    read_values<double>(dataset, path, tensor, digest);
}

// HDF5 guards blocks of data, not everything that says where they are and what they mean.
void check_digest(const hdf5::File& file, const char* attribute, const std::string& found, const char* what) {
  if (file.string_attribute(attribute) == found) return;
  fail(ExitCode::file,
       "{}: {} not match the checksum '{}'; the file is damaged or was changed after it was written",
       file.file_name(), what, attribute);
}

// Of what decides how a model is built and used.
std::string description_digest(const TranslationSystem& system) {
  Sha256 digest;
  const auto add = [&](std::string_view text) { digest.update(text.size()).update(text); };
  for (const std::string& line : lasting_model_config_lines(system.config)) add(line);
  const TextProcessing& text = system.text;
  add_side(digest, text.source_vocabulary, text.source_tokenizer);
  add_side(digest, text.target_vocabulary, text.target_tokenizer);
  digest.update(text.steps.value_or(0)).update(text.max_length.value_or(0));
  add(system.config_yaml);
  return digest.hex_digest();
}

constexpr std::array optimizer_types{"sgd", "adam", "adamw"};

const char* name_of(OptimizerConfig::Kind kind) {
  return optimizer_types.at(static_cast<std::size_t>(kind));
}

void write_optimizer(hdf5::File& file, const Optimizer& optimizer, const ParameterStore& parameters,
                     Sha256& digest) {
  hdf5::Group group = file.create_group("/optimizer");
  const OptimizerConfig& config = optimizer.config();
  group.set_attribute("type", name_of(config.kind));
  group.set_attribute("beta1", config.beta1);
  group.set_attribute("beta2", config.beta2);
  group.set_attribute("eps", config.epsilon);
  group.set_attribute("step", optimizer.steps());
  digest.update(static_cast<std::uint64_t>(optimizer.steps()));
  for (const auto& [name, moments] : {std::pair{"m", &optimizer.m()}, std::pair{"v", &optimizer.v()}}) {
    if (!moments->defined()) continue;
    hdf5::Group moment = group.create_group(name);
    for (const ParameterHandle& parameter : parameters.all()) {
      if (parameter->trainable)
        write_tensor(moment, object_path(parameter->path), parameters.part(*moments, *parameter), digest);
    }
  }
}

// One list of the fields for both directions.
template<typename Progress, typename Visit>
void visit_progress(Progress& progress, Visit&& visit) {
  visit("epoch", progress.epoch);
  visit("batch", progress.batch);
  visit("update", progress.update);
  visit("tokens_seen", progress.tokens_seen);
  visit("epoch_nats", progress.epoch_nats);
  visit("epoch_book", progress.epoch_book);
  visit("epoch_tokens", progress.epoch_tokens);
  visit("best_metric", progress.best_metric);
  visit("best_epoch", progress.best_epoch);
  visit("epochs_without_improvement", progress.epochs_without_improvement);
}

// Fields that files may lack: they are written, and count in the checksum, only if they are not 0.
template<typename Progress, typename Visit>
void visit_later_progress(Progress& progress, Visit&& visit) {
  visit("validated_update", progress.validated_update);
  visit("last_metric", progress.last_metric);
  visit("split_batches", progress.split_batches);
  visit("skipped_sentences", progress.skipped_sentences);
}

void add_progress(Sha256& digest, const TrainingProgress& progress) {
  visit_progress(progress,
                 [&](const char*, auto value) { digest.update(std::bit_cast<std::uint64_t>(value)); });
  digest.update(std::uint64_t{progress.has_best});
  visit_later_progress(progress, [&](const char* name, auto value) {
    if (value != 0) digest.update(name).update(std::bit_cast<std::uint64_t>(value));
  });
}

void write_progress(hdf5::File& file, const TrainingProgress& progress, Sha256& digest) {
  hdf5::Group group = file.create_group("/trainer");
  visit_progress(progress, [&](const char* name, auto value) { group.set_attribute(name, value); });
  group.set_attribute("has_best", static_cast<std::uint8_t>(progress.has_best));
  visit_later_progress(progress, [&](const char* name, auto value) {
    if (value != 0) group.set_attribute(name, value);
  });
  add_progress(digest, progress);
}

TrainingProgress read_progress(const hdf5::File& file, Sha256& digest) {
  TrainingProgress progress;
  const hdf5::Group group = file.group("/trainer");
  visit_progress(progress, [&]<typename T>(const char* name, T& value) { value = group.attribute<T>(name); });
  progress.has_best = group.attribute<std::uint8_t>("has_best") != 0;
  visit_later_progress(progress, [&]<typename T>(const char* name, T& value) {
    if (group.has_attribute(name)) value = group.attribute<T>(name);
  });
  add_progress(digest, progress);
  return progress;
}

// Every name that the group lacks, has in addition, or has in another shape, in one message.
void check_names_and_shapes(const hdf5::Group& group, const ParameterStore& parameters, bool only_trainable,
                            const char* what) {
  std::vector<std::string> problems;
  std::vector<std::string> in_file = group.dataset_paths();
  for (const ParameterHandle& parameter : parameters.all()) {
    if (only_trainable && !parameter->trainable) continue;
    const std::string path = object_path(parameter->path);
    const auto found = std::find(in_file.begin(), in_file.end(), path);
    if (found == in_file.end()) {
      problems.push_back(fmt::format("missing '{}'", parameter->path));
      continue;
    }
    in_file.erase(found);
    const hdf5::Shape shape = group.dataset(path).shape(), expected = file_shape(parameter->shape);
    if (shape != expected) {
      problems.push_back(fmt::format("'{}' is {}, expected {}", parameter->path, hdf5::to_string(shape),
                                     hdf5::to_string(expected)));
    }
  }
  for (const std::string& path : in_file) problems.push_back(fmt::format("unexpected '{}'", path));
  if (problems.empty()) return;
  fail(ExitCode::input_data, "{}: the {} do not fit the model: {}", group.file_name(), what,
       fmt::join(problems, "; "));
}

void read_parameters(const hdf5::File& file, ParameterStore& parameters) {
  const hdf5::Group group = file.group("/model");
  check_names_and_shapes(group, parameters, false, "parameters");
  Sha256 digest;
  for (const ParameterHandle& parameter : parameters.all())
    read_tensor(group, object_path(parameter->path), parameter->tensor, digest);
  check_digest(file, "parameters_sha256", digest.hex_digest(), "the parameters do");
}

void read_moments(const hdf5::File& file, const Optimizer& optimizer, const ParameterStore& parameters,
                  Sha256& digest) {
  for (const auto& [name, moments] : {std::pair{"m", &optimizer.m()}, std::pair{"v", &optimizer.v()}}) {
    if (!moments->defined()) continue;
    const hdf5::Group group = file.group(fmt::format("/optimizer/{}", name));
    check_names_and_shapes(group, parameters, true, "moments of the optimizer");
    for (const ParameterHandle& parameter : parameters.all()) {
      if (parameter->trainable)
        read_tensor(group, object_path(parameter->path), parameters.part(*moments, *parameter), digest);
    }
  }
}

constexpr const char* average_group = "/average";

void write_average(hdf5::File& file, const MovingAverage& average, const ParameterStore& parameters) {
  hdf5::Group group = file.create_group(average_group);
  group.set_attribute("decay", average.decay());
  Sha256 digest;
  for (const ParameterHandle& parameter : parameters.all()) {
    if (parameter->trainable)
      write_tensor(group, object_path(parameter->path), parameters.part(average.values(), *parameter),
                   digest);
  }
  file.set_attribute("average_sha256", digest.hex_digest());
}

// Into a tensor laid out like the store's.
void read_average(const hdf5::File& file, const Tensor& values, const ParameterStore& parameters) {
  const hdf5::Group group = file.group(average_group);
  check_names_and_shapes(group, parameters, true, "averages of the parameters");
  Sha256 digest;
  for (const ParameterHandle& parameter : parameters.all()) {
    if (parameter->trainable)
      read_tensor(group, object_path(parameter->path), parameters.part(values, *parameter), digest);
  }
  check_digest(file, "average_sha256", digest.hex_digest(), "the averages of the parameters do");
}

void check_average(const hdf5::File& file, bool wanted) {
  const bool found = file.exists(average_group);
  if (found == wanted) return;
  fail(
      ExitCode::input_data,
      "{} was trained {} a moving average of the parameters, the configuration asks for the contrary; resume "
      "with training.ema_decay: {}, or start a new run",
      file.file_name(), found ? "with" : "without",
      found ? file.group(average_group).attribute<double>("decay") : 0.0);
}

// The optimizer's state must be of the kind that the configuration asks for.
void check_optimizer(const hdf5::File& file, const Optimizer& optimizer) {
  if (!file.exists("/optimizer"))
    fail(ExitCode::input_data, "{} holds no optimizer state to resume from", file.file_name());
  const hdf5::Group group = file.group("/optimizer");
  const std::string type = group.string_attribute("type");
  const char* wanted = name_of(optimizer.config().kind);
  if (type != wanted) {
    fail(ExitCode::input_data,
         "{} was trained with {}, the configuration asks for {}; resume with the same training.optimizer, or "
         "start a new run",
         file.file_name(), type, wanted);
  }
  if (group.exists("m") == optimizer.m().defined()) return;
  fail(ExitCode::input_data,
       "{} was trained {} momentum, the configuration asks for the contrary; resume with the same "
       "training.momentum, or start a new run",
       file.file_name(), group.exists("m") ? "with" : "without");
}

// The model must be the one of the file but for its dropout.
void check_structure(const hdf5::File& file, const ModelConfig& wanted) {
  ModelConfig stored = read_model_config(file.group("/model"));
  stored.dropout = wanted.dropout;
  stored.feed_forward_dropout = wanted.feed_forward_dropout;
  stored.embedding_dropout = wanted.embedding_dropout;
  stored.attention_dropout = wanted.attention_dropout;
  const std::vector<std::string> found = model_config_lines(stored), expected = model_config_lines(wanted);
  std::vector<std::string> differences;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] != expected[i])
      differences.push_back(fmt::format("model.{} in the file, model.{} now", found[i], expected[i]));
  }
  if (differences.empty()) return;
  fail(ExitCode::input_data, "{} holds another model than the configuration describes: {}", file.file_name(),
       fmt::join(differences, "; "));
}

std::int64_t update_of(const fs::path& checkpoint) {
  const std::string name = checkpoint.filename().string();
  if (!name.starts_with("update-") || checkpoint.extension() != ".h5") return -1;
  return std::strtoll(name.c_str() + 7, nullptr, 10);
}

}  // namespace

void save_checkpoint(const fs::path& path, const TranslationSystem& system, const Optimizer* optimizer,
                     const TrainingProgress& progress, const CheckpointOrigin& origin,
                     const MovingAverage* average) {
  const ParameterStore& parameters = system.model->parameters();
  hdf5::write_atomically(path, [&](hdf5::File& file) {
    hdf5::Header header{format, format_version};
    header.creator = "attn-train";
    header.command_line = origin.command_line;
    header.git_revision = ATTN_GIT_REVISION;
    header.backend = parameters.device()->backend().name();
    header.device = parameters.device()->name();
    header.seed = origin.seed;
    header.config_sha256 = sha256_hex(system.config_yaml);
    hdf5::write_header(file, header);

    hdf5::Group model = file.create_group("/model");
    write_model_config(model, system.config);
    Sha256 parameter_digest;
    for (const ParameterHandle& parameter : parameters.all()) {
      hdf5::Dataset dataset =
          write_tensor(model, object_path(parameter->path), parameter->tensor, parameter_digest);
      dataset.set_attribute("trainable", static_cast<std::uint8_t>(parameter->trainable));
    }
    file.set_attribute("parameters_sha256", parameter_digest.hex_digest());
    file.set_attribute("description_sha256", description_digest(system));
    if (average != nullptr) write_average(file, *average, parameters);

    Sha256 state_digest;
    if (optimizer != nullptr) write_optimizer(file, *optimizer, parameters, state_digest);
    write_progress(file, progress, state_digest);
    file.set_attribute("state_sha256", state_digest.hex_digest());

    hdf5::Group data = file.create_group("/data");
    data.set_attribute("permutation_seed", origin.seed);
    data.set_attribute("corpus_sha256", origin.corpus_sha256);
    if (!origin.averaged_from.empty()) file.write_strings("/meta/averaged_from", origin.averaged_from);
    data.set_attribute("steps", static_cast<std::uint64_t>(system.text.steps.value_or(0)));
    data.set_attribute("max_length", static_cast<std::uint64_t>(system.text.max_length.value_or(0)));
    write_side(file, "source", system.text.source_vocabulary, system.text.source_tokenizer);
    write_side(file, "target", system.text.target_vocabulary, system.text.target_tokenizer);
    file.write_string("/meta/config_yaml", system.config_yaml);
  });
}

TranslationSystem load_translation_system(const fs::path& path, const std::shared_ptr<Device>& device,
                                          DType type) {
  const fs::path checkpoint = checkpoint_to_load(path);
  const hdf5::File file = hdf5::open_checked(checkpoint, format, format_version);
  TranslationSystem system;
  system.config = read_model_config(file.group("/model"));
  read_side(file, "source", system.text.source_vocabulary, system.text.source_tokenizer);
  read_side(file, "target", system.text.target_vocabulary, system.text.target_tokenizer);
  const hdf5::Group data = file.group("/data");
  if (const auto steps = data.attribute<std::uint64_t>("steps")) system.text.steps = steps;
  if (const auto longest = data.attribute<std::uint64_t>("max_length")) system.text.max_length = longest;
  system.config_yaml = file.read_string("/meta/config_yaml");
  check_digest(file, "description_sha256", description_digest(system),
               "model, vocabularies and configuration do");
  const VocabularySizes sizes{static_cast<std::int64_t>(system.text.source_vocabulary.size()),
                              static_cast<std::int64_t>(system.text.target_vocabulary.size())};
  system.model = make_translation_model(system.config, sizes, device, type, std::nullopt);
  read_parameters(file, system.model->parameters());
  if (file.exists(average_group))
    read_average(file, system.model->parameters().flat(), system.model->parameters());
  system.checkpoint_sha256 = sha256_of_file(checkpoint);
  return system;
}

TrainingProgress resume_from_checkpoint(const fs::path& path, TranslationSystem& system, Optimizer& optimizer,
                                        const std::string& corpus_sha256, const MovingAverage* average) {
  const hdf5::File file = hdf5::open_checked(path, format, format_version);
  const TextProcessing& text = system.text;
  const auto check_sides = [&] {
    require_same_side(file, "source", text.source_vocabulary, text.source_tokenizer);
    require_same_side(file, "target", text.target_vocabulary, text.target_tokenizer);
  };
  // Other subwords make other ids of the same data.
  if (!text.source_tokenizer.resource().empty() || !text.target_tokenizer.resource().empty()) check_sides();
  if (file.group("/data").string_attribute("corpus_sha256") != corpus_sha256) {
    fail(ExitCode::input_data,
         "{} was trained on other data than the configuration now reads; resume with the same data, or start "
         "a new run",
         path.string());
  }
  check_optimizer(file, optimizer);
  check_average(file, average != nullptr);
  check_structure(file, system.config);
  check_sides();
  read_parameters(file, system.model->parameters());
  Sha256 digest;
  const auto steps = file.group("/optimizer").attribute<std::int64_t>("step");
  digest.update(static_cast<std::uint64_t>(steps));
  read_moments(file, optimizer, system.model->parameters(), digest);
  const TrainingProgress progress = read_progress(file, digest);
  check_digest(file, "state_sha256", digest.hex_digest(), "moments and progress do");
  if (average != nullptr) read_average(file, average->values(), system.model->parameters());
  optimizer.restore_steps(steps);
  return progress;
}

CheckpointInformation read_checkpoint_information(const fs::path& path) {
  const hdf5::File file = hdf5::open_checked(path, format, format_version);
  CheckpointInformation information;
  Sha256 ignored;
  information.progress = read_progress(file, ignored);
  information.origin.seed = file.group("/data").attribute<std::uint64_t>("permutation_seed");
  information.origin.corpus_sha256 = file.group("/data").string_attribute("corpus_sha256");
  if (file.exists("/meta/averaged_from"))
    information.origin.averaged_from = file.read_strings("/meta/averaged_from");
  const hdf5::Group model = file.group("/model");
  const std::vector<std::string> parameters = model.dataset_paths();
  if (!parameters.empty() && model.dataset(parameters.front()).type() == "f64")
    information.dtype = DType::f64;
  information.config_yaml = file.read_string("/meta/config_yaml");
  return information;
}

fs::path checkpoint_to_load(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return path;
  fs::path best = path / "checkpoints" / "best.h5";
  if (fs::exists(best, ignored)) return best;
  fs::path latest = latest_checkpoint(path);
  if (latest.empty()) {
    fail(ExitCode::file, "{} has no checkpoint (looked for checkpoints/best.h5 and checkpoints/update-*.h5)",
         path.string());
  }
  return latest;
}

fs::path latest_checkpoint(const fs::path& run_directory) {
  fs::path latest;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(run_directory / "checkpoints", ignored)) {
    if (update_of(entry.path()) > (latest.empty() ? -1 : update_of(latest))) latest = entry.path();
  }
  return latest;
}

}  // namespace attn
