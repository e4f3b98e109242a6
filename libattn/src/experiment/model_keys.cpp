#include "model_keys.h"

#include "attn/models/model_names.h"

namespace attn {
namespace {

using config::Boolean;
using config::Choice;
using config::Integer;
using config::Real;
using config::Schema;

const Integer positive{.minimum = 1};
const Real fraction{.minimum = 0, .below = 1};

template<typename Enum, std::size_t count>
Choice<Enum> choice_of(const names::Table<Enum, count>& table) {
  Choice<Enum> choice;
  for (const auto& [name, value] : table) choice.choices.emplace_back(std::string(name), value);
  return choice;
}

void check_recurrent(Schema& schema, const ModelConfig& model, const DataConfig& data) {
  if (model.encoder_layers != model.decoder_layers) {
    schema.problem("model.decoder_layers",
                   fmt::format("{} must equal model.encoder_layers {} in a seq2seq model",
                               model.decoder_layers, model.encoder_layers));
  }
  if (model.encode_padding && data.steps == 0) {
    schema.problem(
        "model.encode_padding",
        "needs data.steps: with padding of varying length a translation would depend on its batch");
  }
  if (model.type == ModelConfig::Type::seq2seq_attention && model.scoring == Scoring::dot &&
      model.bidirectional) {
    schema.problem(
        "model.scoring",
        "dot needs states of equal width, and a bidirectional encoder's are twice as wide; use general");
  }
  if (model.tying != ModelConfig::Tying::none && !model.deep_output &&
      model.embedding_size != model.hidden_size) {
    schema.problem(
        "model.tying",
        fmt::format("needs model.embedding_size {} equal to model.hidden_size {}, or model.deep_output: true",
                    model.embedding_size, model.hidden_size));
  }
}

}  // namespace

void describe_model(Schema& schema, ModelConfig& m) {
  schema.field("model.type", m.type, choice_of(names::model_types),
               "Architecture (kernel-regression, too, has keys of its own)");
  schema.field("model.embedding_size", m.embedding_size, positive,
               "Width of the embeddings (seq2seq models)");
  schema.field("model.hidden_size", m.hidden_size, positive,
               "Width of the hidden states; a Transformer's width");
  schema.field("model.encoder_layers", m.encoder_layers, positive, "Layers of the encoder");
  schema.field("model.decoder_layers", m.decoder_layers, positive, "Layers of the decoder");
  schema.field("model.dropout", m.dropout, fraction, "Dropout rate");
  schema.field("model.attention_dropout", m.attention_dropout, fraction,
               "Dropout of attention weights; null: model.dropout");
  schema.field("model.embedding_dropout", m.embedding_dropout, fraction,
               "seq2seq models: dropout of the embeddings and of what the output layer reads");
  schema.field("model.cell", m.cell, choice_of(names::cells), "seq2seq models: kind of recurrent layers");
  schema.field("model.bidirectional", m.bidirectional, Boolean{},
               "seq2seq models: the encoder reads in both directions");
  schema.field("model.scoring", m.scoring, choice_of(names::scorings),
               "seq2seq-attention: how a state scores an output of the encoder");
  schema.field("model.deep_output", m.deep_output, Boolean{},
               "seq2seq models: logits from state, context and embedding together");
  schema.field("model.encode_padding", m.encode_padding, Boolean{},
               "seq2seq models: run the encoder over the padding, as the book does");
  schema.field("model.heads", m.heads, positive, "Attention heads (Transformer)");
  schema.field("model.feed_forward_size", m.feed_forward_size, positive,
               "Hidden width of the feed-forward network (Transformer)");
  schema.field("model.feed_forward_dropout", m.feed_forward_dropout, fraction,
               "Dropout inside the feed-forward network");
  schema.field("model.norm", m.norm, choice_of(names::norms),
               "Layer norm after (post) or before (pre) each sublayer");
  schema.field("model.final_norm", m.final_norm, Boolean{},
               "A layer norm after each stack; always there with norm: pre");
  schema.field("model.positions", m.positions, choice_of(names::positions), "Positional encoding");
  schema.field("model.max_length", m.max_length, positive, "Rows of a learned position table");
  schema.field("model.attention_bias", m.attention_bias, Boolean{},
               "Biases in the projections of multi-head attention");
  schema.field("model.tying", m.tying, choice_of(names::tyings),
               "Share the output layer with the target embedding, or all three");
  schema.field("model.masking", m.masking, choice_of(names::maskings),
               "exact: masked keys weigh 0; book: scores of -1e6");
}

void check_model(Schema& schema, const ExperimentConfig& config) {
  const ModelConfig& model = config.model;
  const bool is_transformer = model.type == ModelConfig::Type::transformer;
  if (!is_transformer) check_recurrent(schema, model, config.data);
  if (is_transformer && model.hidden_size % model.heads != 0) {
    schema.problem("model.heads",
                   fmt::format("{} does not divide model.hidden_size {}", model.heads, model.hidden_size));
  }
  if (model.tying == ModelConfig::Tying::all && !config.data.shared_vocabulary)
    schema.problem("model.tying", "all needs data.shared_vocabulary: true");
}

}  // namespace attn
