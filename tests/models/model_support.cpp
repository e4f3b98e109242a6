#include "model_support.h"

namespace attn::test {

const Sentences small_source({{4, 7, 5, 8, eos_id}, {6, 5, eos_id}});
const Sentences small_input({{bos_id, 4, 6, 5}, {bos_id, 7}});
const std::vector<std::vector<std::int32_t>> small_labels = {{4, 6, 5, eos_id}, {7, eos_id}};

Sentences::Sentences(const std::vector<std::vector<std::int32_t>>& rows, std::size_t steps) {
  for (const auto& row : rows) steps = std::max(steps, row.size());
  steps_ = static_cast<std::int64_t>(steps);
  for (const auto& row : rows) {
    ids_.insert(ids_.end(), row.begin(), row.end());
    ids_.insert(ids_.end(), steps - row.size(), pad_id);
    lengths_.push_back(static_cast<std::int32_t>(row.size()));
  }
}

namespace {

ModelConfig small_base(double dropout) {
  ModelConfig base;
  base.embedding_size = 3;
  base.hidden_size = 4;
  base.dropout = dropout;
  base.heads = 2;
  base.feed_forward_size = 5;
  return base;
}

}  // namespace

std::vector<NamedConfig> small_recurrent_models(double dropout) {
  ModelConfig plain = small_base(dropout);
  plain.type = ModelConfig::Type::seq2seq;
  ModelConfig attention = plain;
  attention.type = ModelConfig::Type::seq2seq_attention;
  ModelConfig both = attention, lstm = plain, general = attention, dot = attention;
  both.bidirectional = true;
  lstm.cell = RecurrentCell::lstm;
  lstm.bidirectional = lstm.deep_output = true;
  lstm.embedding_dropout = dropout;
  general.cell = RecurrentCell::lstm;
  general.scoring = Scoring::general;
  general.bidirectional = general.deep_output = true;
  general.tying = ModelConfig::Tying::output;
  general.attention_dropout = dropout / 2;
  dot.scoring = Scoring::dot;
  dot.embedding_size = dot.hidden_size;
  dot.tying = ModelConfig::Tying::all;
  dot.encoder_layers = dot.decoder_layers = 1;
  return {{"seq2seq", plain},
          {"seq2seq with attention", attention},
          {"bidirectional GRU with attention", both},
          {"bidirectional LSTM, deep output", lstm},
          {"bidirectional LSTM, general scoring, deep and tied output", general},
          {"GRU, dot scoring, all tied", dot}};
}

std::vector<NamedConfig> small_models(double dropout) {
  const ModelConfig base = small_base(dropout);
  ModelConfig post = base, pre = base, output = base, all = base;
  post.encoder_layers = 1;
  post.final_norm = true;
  pre.norm = ModelConfig::Norm::pre;
  pre.decoder_layers = 1;
  pre.attention_bias = true;
  pre.positions = PositionKind::learned;
  pre.max_length = 6;
  pre.feed_forward_dropout = dropout;
  output.tying = ModelConfig::Tying::output;
  output.encoder_layers = output.decoder_layers = 1;
  all.tying = ModelConfig::Tying::all;
  all.encoder_layers = all.decoder_layers = 1;
  all.positions = PositionKind::none;
  post.attention_dropout = dropout / 2;
  std::vector<NamedConfig> models = small_recurrent_models(dropout);
  models.insert(models.end(), {{"transformer, post-norm", post},
                               {"transformer, pre-norm, learned positions", pre},
                               {"transformer, tied output", output},
                               {"transformer, all tied", all}});
  return models;
}

std::unique_ptr<TranslationModel> make_small(const ModelConfig& config, const std::shared_ptr<Device>& device,
                                             DType type, std::uint64_t seed) {
  return make_translation_model(config, small_vocabularies, device, type, seed);
}

Tensor dropout_counter(const std::shared_ptr<Device>& device, std::int32_t seed, std::int32_t step) {
  return Tensor::from<std::int32_t>(device, std::vector<std::int32_t>{seed, 0, step, 0}, {4});
}

Tensor token_losses(const TranslationModel::Logits& logits,
                    const std::vector<std::vector<std::int32_t>>& labels, std::int64_t steps) {
  const std::size_t batch = labels.size();
  std::vector<std::int32_t> flat(batch * static_cast<std::size_t>(steps), -1);
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t t = 0; t < labels[b].size(); ++t) {
      const bool by_batch = logits.order == TokenOrder::batch_major;
      flat[by_batch ? b * static_cast<std::size_t>(steps) + t : t * batch + b] = labels[b][t];
    }
  }
  const Tensor on_device = Tensor::from<std::int32_t>(logits.values.shared_device(), flat,
                                                      Shape{static_cast<std::int64_t>(flat.size())});
  return ops::cross_entropy(logits.values, on_device);
}

std::vector<double> batch_major(const Tensor& rows, TokenOrder order, std::int64_t batch,
                                std::int64_t steps) {
  const auto values = rows.to_vector<double>();
  const std::int64_t width = rows.elements() / (batch * steps);
  return order == TokenOrder::batch_major ? values : permuted(values, {steps, batch, width}, {1, 0, 2});
}

std::vector<double> forced_logits(const TranslationModel& model, const Sentences& source,
                                  const Sentences& input, Context context) {
  const TranslationModel::Logits logits = model.forward(source.batch(), input.batch(), context);
  return batch_major(logits.values, logits.order, input.batch().size, input.batch().steps);
}

}  // namespace attn::test
