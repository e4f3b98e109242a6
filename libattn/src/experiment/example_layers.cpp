#include <fmt/format.h>

#include <array>

#include "attn/core/error.h"
#include "attn/models/transformer.h"
#include "attn/nn/layers.h"
#include "example_run.h"

namespace attn {
namespace {

using config::Integer;
using config::Real;
using config::Schema;

const ExampleNumbers required{}, optional{.required = false};
const Integer positive{.minimum = 1, .maximum = 4096};

ExampleValues with_rank(const ExampleRun& run, const ExampleArray& array, const char* name, std::size_t rank,
                        const char* axes) {
  ExampleValues values = run.values(array, name);
  if (values.shape.size() != rank)
    fail(ExitCode::config, "{} must be {}, but has the shape {}", name, axes, shape_text(values.shape));
  return values;
}

/// One matrix product a sentence.
class BatchProduct final : public ExampleKind {
 public:
  void describe(Schema& schema) override {
    schema.field("left", left_, required, "[sentences, rows, inner]");
    schema.field("right", right_, required, "[sentences, inner, columns]");
  }
  void compute(ExampleRun& run) const override {
    const ExampleValues left = with_rank(run, left_, "left", 3, "[sentences, rows, inner]"),
                        right = with_rank(run, right_, "right", 3, "[sentences, inner, columns]");
    if (left.shape[0] != right.shape[0] || left.shape[2] != right.shape[1]) {
      fail(ExitCode::config,
           "{} and {} cannot be multiplied: as many matrices, and columns as rows, are needed",
           shape_text(left.shape), shape_text(right.shape));
    }
    run.add("left", "", left);
    run.add("right", "", right);
    run.add("product", "left right, sentence by sentence", ops::matmul(run.tensor(left), run.tensor(right)));
  }

 private:
  ExampleArray left_, right_;
};

/// The same numbers under layer and batch normalisation.
class Normalisation final : public ExampleKind {
 public:
  void describe(Schema& schema) override {
    schema.field("input", input_, required, "[rows, width]");
    schema.field("epsilon", epsilon_, Real{.above = 0}, "Added to the variance");
  }
  void compute(ExampleRun& run) const override {
    const ExampleValues input = with_rank(run, input_, "input", 2, "[rows, width]");
    const Tensor x = run.tensor(input);
    const Tensor ones = ops::full(x, Shape{x.size(1)}, 1.0), zeros = ops::full(x, Shape{x.size(1)}, 0.0);
    run.add("input", "", input);
    run.add("layer norm", "(x - mean) / sqrt(variance + epsilon) of every row",
            ops::layer_norm(x, ones, zeros, epsilon_).output);
    run.add("batch norm", "(x - mean) / sqrt(variance + epsilon) of every column",
            ops::batch_norm(x, ones, zeros, epsilon_).output);
  }

 private:
  ExampleArray input_;
  double epsilon_ = 1e-5;
};

/// The position-wise network: the same for every position.
class FeedForward final : public ExampleKind {
 public:
  void describe(Schema& schema) override {
    schema.field("input", input_, required, "[sentences, steps, width]");
    schema.field("hidden_size", hidden_, positive, "Width of the hidden layer");
    schema.field("output_size", output_, positive, "Width of the output");
  }
  void compute(ExampleRun& run) const override {
    const ExampleValues input = with_rank(run, input_, "input", 3, "[sentences, steps, width]");
    ParameterStore parameters(run.device(), run.type());
    const PositionWiseFFN network(Scope(parameters), input.shape[2], hidden_, output_);
    parameters.materialise(run.seed());
    Context context;
    run.add("input", "", input);
    run.add("output", "W_2 relu(W_1 x + b_1) + b_2 at every position", network(run.tensor(input), context));
  }

 private:
  ExampleArray input_;
  std::int64_t hidden_ = 4, output_ = 8;
};

/// A block of the Transformer's encoder, and one of its decoder on top.
class TransformerBlocks final : public ExampleKind {
 public:
  void describe(Schema& schema) override {
    schema.field("input", input_, required, "[sentences, steps, width]: of the encoder, and of the decoder");
    schema.field("valid_lengths", lengths_, optional, "Steps that are no padding, one number a sentence");
    schema.field("heads", heads_, positive, "Heads; they divide the width");
    schema.field("feed_forward_size", feed_forward_, positive, "Hidden width of the position-wise network");
  }
  void compute(ExampleRun& run) const override;

 private:
  ExampleArray input_, lengths_;
  std::int64_t heads_ = 8, feed_forward_ = 48;
};

void TransformerBlocks::compute(ExampleRun& run) const {
  const ExampleValues input = with_rank(run, input_, "input", 3, "[sentences, steps, width]");
  Tensor lengths;
  if (lengths_.given()) {
    const ExampleValues values = run.values(lengths_, "valid_lengths");
    if (values.shape != std::vector{input.shape[0]})
      fail(ExitCode::config, "valid_lengths must be {} numbers, one a sentence, but has the shape {}",
           input.shape[0], shape_text(values.shape));
    lengths = run.lengths(values, "valid_lengths");
  }
  ModelConfig config;
  config.hidden_size = input.shape[2];
  config.heads = heads_;
  config.feed_forward_size = feed_forward_;
  ParameterStore parameters(run.device(), run.type());
  const Scope scope(parameters);
  const TransformerEncoderBlock encoder(scope / "encoder", config, 0);
  const TransformerDecoderBlock decoder(scope / "decoder", config, 0);
  parameters.materialise(run.seed());
  Context context;
  const Tensor x = run.tensor(input), encoded = encoder(x, lengths, context);
  run.add("input", "", input);
  run.add("encoder block", "self-attention, add & norm, position-wise network, add & norm", encoded);
  run.add("decoder block",
          "causal self-attention and attention to the encoder, each with add & norm; network",
          decoder(x, decoder.project_memory(encoded), lengths, context));
}

/// Cross entropy that leaves padding out, and the book's mean over all steps.
class MaskedLoss final : public ExampleKind {
 public:
  void describe(Schema& schema) override {
    schema.field("logits", logits_, required, "[sentences, steps, classes]");
    schema.field("labels", labels_, required, "[sentences, steps], whole numbers");
    schema.field("valid_lengths", lengths_, required, "Steps that are no padding, one number a sentence");
  }
  void compute(ExampleRun& run) const override;

 private:
  ExampleArray logits_, labels_, lengths_;
};

void MaskedLoss::compute(ExampleRun& run) const {
  const ExampleValues logits = with_rank(run, logits_, "logits", 3, "[sentences, steps, classes]"),
                      given = with_rank(run, labels_, "labels", 2, "[sentences, steps]"),
                      lengths = with_rank(run, lengths_, "valid_lengths", 1, "one number a sentence");
  const std::int64_t batch = logits.shape[0], steps = logits.shape[1], classes = logits.shape[2];
  if (given.shape != std::vector{batch, steps} || lengths.shape != std::vector{batch})
    fail(ExitCode::config, "logits, labels and valid_lengths are of different numbers of sentences or steps");
  ExampleValues labels{{batch * steps}, {}};
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < batch * steps; ++i) {
    const double label = given.values[static_cast<std::size_t>(i)];
    if (!(label >= 0 && label < static_cast<double>(classes)))
      fail(ExitCode::config, "labels must be from 0 to {}, found {}", classes - 1, label);
    const bool padding =
        static_cast<double>(i % steps) >= lengths.values[static_cast<std::size_t>(i / steps)];
    ids.push_back(padding ? -1 : static_cast<std::int32_t>(label));
  }
  const Tensor losses =
      ops::cross_entropy(run.tensor(logits).reshaped({batch * steps, classes}),
                         Tensor::from<std::int32_t>(run.device(), ids, Shape{batch * steps}))
          .reshaped({batch, steps});
  const std::array<int, 1> last{-1};
  run.add("logits", "", logits);
  run.add("labels", "", given);
  run.add("token losses", "-log softmax(logits)[label], 0 at padding", losses);
  run.add("sentence losses", "the book's: mean over all steps, padding included", ops::mean(losses, last));
}

}  // namespace

std::unique_ptr<ExampleKind> make_batch_product_example() {
  return std::make_unique<BatchProduct>();
}
std::unique_ptr<ExampleKind> make_normalisation_example() {
  return std::make_unique<Normalisation>();
}
std::unique_ptr<ExampleKind> make_feed_forward_example() {
  return std::make_unique<FeedForward>();
}
std::unique_ptr<ExampleKind> make_transformer_block_example() {
  return std::make_unique<TransformerBlocks>();
}
std::unique_ptr<ExampleKind> make_masked_loss_example() {
  return std::make_unique<MaskedLoss>();
}

}  // namespace attn
