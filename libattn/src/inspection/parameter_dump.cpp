#include "attn/inspection/parameter_dump.h"

#include <algorithm>

#include "attn/core/error.h"
#include "attn/core/sha256.h"
#include "attn/decoding/translator.h"
#include "attn/inspection/attention_maps.h"
#include "attn/io/hdf5.h"
#include "attn/text/utf8.h"
#include "attn/text/vocabulary.h"
#include "inspection/archive_layout.h"

namespace attn {
namespace {

std::string object_path(std::string_view group, const std::string& name) {
  std::string path = fmt::format("{}/{}", group, name);
  std::replace(path.begin(), path.end(), '.', '/');
  return path;
}

hdf5::Dataset write_tensor(hdf5::File& file, const std::string& path, const Tensor& tensor,
                           const hdf5::Shape& shape) {
  hdf5::Dataset dataset =
      tensor.dtype() == DType::f64
          ? file.write(path, tensor.to_vector<double>(), shape, hdf5::Storage::compressed())
          : file.write(path, tensor.to_vector<float>(), shape, hdf5::Storage::compressed());
  dataset.describe(path.substr(path.find('/', 1) + 1), "1");
  return dataset;
}

// Without the axis of a batch of one.
hdf5::Shape shape_of_one(const Shape& shape) {
  hdf5::Shape result;
  bool dropped = false;
  for (const std::int64_t extent : shape.dims()) {
    if (extent == 1 && !dropped && shape.rank() > 2) {
      dropped = true;
      continue;
    }
    result.push_back(static_cast<std::uint64_t>(extent));
  }
  return result;
}

// What the model is run on.
struct Sentence {
  std::vector<std::int32_t> source, target;
  std::int32_t source_length = 0;  // before padding
};

Sentence prepare(const TranslationSystem& system, const ActivationRequest& request) {
  if (is_blank(request.source) || (request.target && is_blank(*request.target)))
    fail(ExitCode::input_data, "a blank sentence has no activations");
  const Translator translator(*system.model, system.config, system.text);
  Sentence sentence;
  if (request.target) {
    sentence.source = translator.encode_source(request.source).ids;
    sentence.target = translator.encode_target(*request.target).ids;
  } else {
    const std::vector<std::string> lines{request.source};
    const std::vector<Translation> translations = translator.translate(lines);
    sentence.source = translations.front().source.ids;
    const Hypothesis& best = translations.front().best.front().hypothesis;
    sentence.target = best.tokens;
    if (best.finished) sentence.target.push_back(Vocabulary::eos);
  }
  sentence.source_length = static_cast<std::int32_t>(sentence.source.size());
  sentence.source.resize(system.text.steps.value_or(sentence.source.size()), Vocabulary::pad);
  return sentence;
}

void write_tokens(hdf5::File& file, const char* name, const std::vector<std::int32_t>& ids,
                  const Vocabulary& vocabulary) {
  std::vector<std::string> tokens;
  tokens.reserve(ids.size());
  for (const std::int32_t id : ids) tokens.push_back(vocabulary.token(id));
  for (std::string& token : tokens) std::replace(token.begin(), token.end(), '\0', archive::nul_substitute);
  file.write_strings(fmt::format("/activations/{}", name), tokens);
}

void write_activations(hdf5::File& file, const TranslationSystem& system, const ActivationRequest& request) {
  const Sentence sentence = prepare(system, request);
  Context context;
  context.observe_activations([&](const std::string& name, const Tensor& value) {
    write_tensor(file, object_path("/activations", name), value, shape_of_one(value.shape()));
  });
  const TranslationModel& model = *system.model;
  const auto kinds = model.attention_maps().empty() ? std::vector<AttentionArchiveLayout::Kind>{}
                                                    : select_attention(model, {});
  const TokenBatch source{1, static_cast<std::int64_t>(sentence.source.size()), sentence.source,
                          std::span(&sentence.source_length, 1)};
  const std::vector<SentenceMaps> maps =
      record_attention(model, kinds, source, std::span(&sentence.target, 1), context);
  const auto target_length = static_cast<std::uint64_t>(sentence.target.size());
  const auto source_length = static_cast<std::uint64_t>(sentence.source_length);
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    const archive::KindTraits traits = archive::traits_of(kinds[k].kind);
    const auto length = [&](const char* tokens) {
      return archive::is_source(tokens) ? source_length : target_length;
    };
    const std::string path = fmt::format("/activations/attention/{}", name_of(kinds[k].kind));
    hdf5::Dataset dataset = file.write(path, maps.front().blocks[k],
                                       {kinds[k].layers.size(), kinds[k].heads.size(),
                                        length(traits.query_tokens), length(traits.key_tokens)},
                                       hdf5::Storage::compressed());
    dataset.describe("attention weights [layer, head, query, key], after the softmax", "1");
  }
  std::vector<std::int32_t> fed = sentence.target;
  fed.insert(fed.begin(), Vocabulary::bos);
  fed.pop_back();
  write_tokens(file, "source_tokens", sentence.source, system.text.source_vocabulary);
  write_tokens(file, "target_tokens", sentence.target, system.text.target_vocabulary);
  write_tokens(file, "decoder_input_tokens", fed, system.text.target_vocabulary);
}

}  // namespace

void write_parameters(const std::filesystem::path& path, const TranslationSystem& system,
                      const std::optional<ActivationRequest>& activations, const std::string& command_line) {
  const ParameterStore& parameters = system.model->parameters();
  hdf5::write_atomically(path, [&](hdf5::File& file) {
    hdf5::Header header{"attn.parameters", 1};
    header.creator = "attn-dump";
    header.command_line = command_line;
    header.backend = parameters.device()->backend().name();
    header.device = parameters.device()->name();
    header.checkpoint_sha256 = system.checkpoint_sha256;
    header.config_sha256 = sha256_hex(system.config_yaml);
    hdf5::write_header(file, header);
    file.write_string("/meta/config_yaml", system.config_yaml);
    for (const ParameterHandle& parameter : parameters.all()) {
      hdf5::Dataset dataset =
          write_tensor(file, object_path("/parameters", parameter->path), parameter->tensor,
                       {parameter->shape.dims().begin(), parameter->shape.dims().end()});
      dataset.set_attribute("trainable", static_cast<std::uint8_t>(parameter->trainable));
    }
    if (activations) write_activations(file, system, *activations);
  });
}

}  // namespace attn
