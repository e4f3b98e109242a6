#include <algorithm>

#include "attn/models/seq2seq.h"
#include "attn/models/transformer.h"
#include "attn/nn/gru.h"
#include "golden_names.h"
#include "model_support.h"

namespace {

using namespace attn;
using namespace attn::test;

struct ModelCase {
  std::string name;
  ModelConfig config;
};

std::vector<ModelCase> model_cases() {
  ModelConfig gru;
  gru.type = ModelConfig::Type::seq2seq;
  gru.embedding_size = 5;
  gru.hidden_size = 6;
  gru.encode_padding = true;
  ModelConfig bahdanau = gru;
  bahdanau.type = ModelConfig::Type::seq2seq_attention;
  ModelConfig transformer;
  transformer.hidden_size = 8;
  transformer.heads = 2;
  transformer.feed_forward_size = 16;
  ModelConfig prenorm = transformer;
  prenorm.norm = ModelConfig::Norm::pre;
  return {{"seq2seq_plain", gru},
          {"seq2seq_bahdanau", bahdanau},
          {"tiny_transformer", transformer},
          {"tiny_transformer_prenorm", prenorm}};
}

// A whole model with the parameters of the reference file.
class ModelRun {
 public:
  ModelRun(const ModelCase& model_case, const Setting& setting)
      : golden(model_case.name),
        model(make_translation_model(model_case.config, {11, 13}, setting.device, setting.type, 1)),
        setting_(setting) {
    model->parameters().train_with(tape_);
    const auto names = parameter_names();
    REQUIRE(names.size() == model->parameters().all().size());
    for (const std::string& name : names) parameter(name)->tensor.assign<double>(values("param_" + name));
  }

  // The parameters of the Bahdanau scoring function stand above encoder and decoder in the reference.
  ParameterHandle parameter(const std::string& name) const {
    const std::string path = path_of(name.starts_with("attention.") ? "decoder." + name : name);
    INFO(name << " as " << path);
    ParameterHandle found = model->parameters().find(path);
    REQUIRE(found != nullptr);
    REQUIRE(found->shape.elements() == static_cast<std::int64_t>(values("param_" + name).size()));
    return found;
  }
  std::vector<std::string> parameter_names() const {
    std::vector<std::string> names;
    for (const std::string& dataset : golden.datasets()) {
      if (dataset.starts_with("param_")) names.push_back(dataset.substr(6));
    }
    return names;
  }
  std::vector<double> values(const std::string& dataset) const { return golden.values(dataset); }

  void check(const std::vector<double>& found, const std::string& dataset) const {
    check(found, values(dataset), dataset);
  }
  void check(const std::vector<double>& found, const std::vector<double>& expected,
             const std::string& what) const {
    INFO(setting_.name << ": " << what);
    CHECK(relative_difference(found, expected) < setting_.tolerance);
  }

  // Labels without their padding.
  std::vector<std::vector<std::int32_t>> labels() const {
    const auto ids = golden.integers("tgt"), lengths = golden.integers("tgt_lens");
    std::vector<std::vector<std::int32_t>> rows;
    for (std::size_t b = 0; b < lengths.size(); ++b)
      rows.emplace_back(ids.begin() + static_cast<std::ptrdiff_t>(b) * steps,
                        ids.begin() + static_cast<std::ptrdiff_t>(b) * steps + lengths[b]);
    return rows;
  }
  Tape& tape() { return tape_; }

  static constexpr std::int64_t batch = 2, steps = 4;
  GoldenCase golden;
  std::unique_ptr<TranslationModel> model;

 private:
  Setting setting_;
  Tape tape_;
};

// What a model is fed; owns the ids.
struct Fed {
  explicit Fed(const GoldenCase& golden)
      : source(golden.integers("src")),
        source_lengths(golden.integers("src_lens")),
        input(golden.integers("dec_in")),
        input_lengths(golden.integers("tgt_lens")) {}

  TokenBatch sources() const { return {2, 5, source, source_lengths}; }
  TokenBatch inputs() const { return {2, 4, input, input_lengths}; }
  TokenBatch source_alone(std::size_t b) const {
    return {1, 5, std::span(source).subspan(b * 5, 5), std::span(source_lengths).subspan(b, 1)};
  }

  std::vector<std::int32_t> source, source_lengths, input, input_lengths;
};

// Greedy search, at most 6 tokens, the end token included.
std::vector<double> greedy(const TranslationModel& model, const TokenBatch& source) {
  constexpr std::int64_t max_steps = 6;
  Context context;
  const auto state = model.encode(source, max_steps, context);
  std::vector<double> found;
  std::int32_t token = bos_id;
  while (static_cast<std::int64_t>(found.size()) < max_steps && token != eos_id) {
    const auto logits = model.step(*state, std::span(&token, 1), context).to_vector<double>();
    token = static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
    found.push_back(token);
  }
  return found;
}

// All reported weights of one kind, in the order of their layers.
std::vector<double> weights_of(const std::vector<SeenWeights>& seen, AttentionKind kind) {
  std::vector<double> values;
  std::int64_t layer = 0;
  for (const SeenWeights& weights : seen) {
    if (weights.kind != kind) continue;
    CHECK(weights.layer == (kind == AttentionKind::rnn_cross ? 0 : layer++));
    values.insert(values.end(), weights.values.begin(), weights.values.end());
  }
  return values;
}

void check_weights(const ModelRun& run, const std::vector<SeenWeights>& seen) {
  const std::vector<std::pair<std::string, AttentionKind>> maps = {
      {"enc_weights", AttentionKind::encoder_self},
      {"dec_self_weights", AttentionKind::decoder_self},
      {"dec_cross_weights", AttentionKind::cross},
      {"attention_weights", AttentionKind::rnn_cross}};
  for (const auto& [dataset, kind] : maps) {
    const auto found = weights_of(seen, kind);
    if (run.golden.has(dataset)) {
      run.check(found, dataset);
    } else {
      CHECK(found.empty());
    }
  }
}

}  // namespace

TEST_CASE("whole models reproduce the reference: logits, losses, gradients, attention weights") {
  for (const Setting& setting : settings()) {
    for (const ModelCase& model_case : model_cases()) {
      INFO(model_case.name);
      ModelRun run(model_case, setting);
      const Fed fed(run.golden);
      Context context;
      std::vector<SeenWeights> seen;
      record_weights(context, seen);
      const auto logits = run.model->forward(fed.sources(), fed.inputs(), context);
      run.check(batch_major(logits.values, logits.order, run.batch, run.steps), "logits");
      check_weights(run, seen);

      const Tensor tokens = token_losses(logits, run.labels(), run.steps);
      run.check(batch_major(tokens, logits.order, run.batch, run.steps), "token_loss");
      // The book's loss is the mean over all steps, summed over the batch.
      const Tensor sum = ops::sum(tokens), loss = ops::affine(sum, 1.0 / run.steps, 0.0);
      run.check({loss.item()}, "loss");
      if (run.golden.has("loss_token_mean")) run.check({sum.item() / 6.0}, "loss_token_mean");
      run.tape().backward(loss);
      for (const std::string& name : run.parameter_names())
        run.check(run.parameter(name)->gradient.to_vector<double>(), "grad_" + name);
    }
  }
}

TEST_CASE("greedy search reproduces the tokens of the reference") {
  for (const Setting& setting : settings()) {
    for (const ModelCase& model_case : model_cases()) {
      INFO(setting.name << ", " << model_case.name);
      const ModelRun run(model_case, setting);
      const Fed fed(run.golden);
      run.model->parameters().stop_training();
      for (std::size_t b = 0; b < 2; ++b)
        CHECK(greedy(*run.model, fed.source_alone(b)) == run.values("greedy_" + std::to_string(b)));
    }
  }
}

TEST_CASE("encoders reproduce the outputs and states of the reference") {
  for (const Setting& setting : settings()) {
    for (const ModelCase& model_case : model_cases()) {
      INFO(model_case.name);
      const ModelRun run(model_case, setting);
      const Fed fed(run.golden);
      Context context;
      if (const auto* transformer = dynamic_cast<const Transformer*>(run.model.get())) {
        const Tensor outputs = transformer->encode_sources(
            Tensor::from<std::int32_t>(setting.device, fed.source, {2, 5}),
            Tensor::from<std::int32_t>(setting.device, fed.source_lengths, {2}), context);
        run.check(outputs.to_vector<double>(), "enc_outputs");
        continue;
      }
      ParameterStore store(setting.device, setting.type);
      const Seq2SeqEncoder encoder(Scope(store) / "encoder", model_case.config, 11);
      store.materialise(1);
      for (const std::string& name : run.parameter_names()) {
        if (name.starts_with("encoder."))
          store.find(path_of(name))->tensor.assign<double>(run.values("param_" + name));
      }
      const GRU::Result encoded = encoder(setting.device, fed.sources(), context);
      run.check(encoded.outputs.to_vector<double>(), "enc_outputs");
      std::vector<double> states;
      for (const Tensor& state : encoded.states) {
        const auto values = state.to_vector<double>();
        states.insert(states.end(), values.begin(), values.end());
      }
      run.check(states, "enc_state");
    }
  }
}
