#include "attn/models/transformer.h"
#include "golden_names.h"
#include "support/golden_module.h"

namespace {

using namespace attn;
using namespace attn::test;

struct BlockCase {
  std::string name;
  ModelConfig::Norm norm;
};

ModelConfig block_config(const BlockCase& block) {
  ModelConfig config;
  config.hidden_size = 8;
  config.heads = 2;
  config.feed_forward_size = 16;
  config.dropout = 0.4;  // acts in training only
  config.norm = block.norm;
  return config;
}

// The parameters of a block case: every dataset that has a gradient and a path.
std::vector<std::string> parameter_names(const GoldenModule& run) {
  std::vector<std::string> names;
  for (const std::string& dataset : run.golden().datasets()) {
    if (dataset.starts_with("grad_") && dataset.find('.') != std::string::npos)
      names.push_back(dataset.substr(5));
  }
  return names;
}

void load_all(GoldenModule& run) {
  run.start();
  const auto names = parameter_names(run);
  REQUIRE(names.size() == run.store().all().size());
  for (const std::string& name : names) run.load(path_of(name), name);
}

void check_gradients(const GoldenModule& run) {
  for (const std::string& name : parameter_names(run)) run.check_gradient_of(path_of(name), "grad_" + name);
}

}  // namespace

TEST_CASE("an encoder block reproduces the reference, gradients included") {
  for (const Setting& setting : settings()) {
    for (const BlockCase& block : {BlockCase{"encoder_block_postnorm", ModelConfig::Norm::post},
                                   BlockCase{"encoder_block_prenorm", ModelConfig::Norm::pre}}) {
      INFO(block.name);
      GoldenModule run(block.name, setting);
      const TransformerEncoderBlock encoder(run.scope(), block_config(block), 4);
      load_all(run);
      const Tensor x = run.watch("X");
      Context context;
      std::vector<SeenWeights> seen;
      record_weights(context, seen);
      const Tensor output = encoder(x, run.integers("valid_lens"), context);
      run.check(output, "out");
      REQUIRE(seen.size() == 1);
      CHECK(seen[0].kind == AttentionKind::encoder_self);
      CHECK(seen[0].layer == 4);
      run.check(seen[0].values, run.golden().values("weights"), "weights");
      run.backward(output, "cot_out");
      run.check_gradient(x, "grad_X");
      check_gradients(run);
    }
  }
}

namespace {

const std::vector<BlockCase> decoder_cases = {{"decoder_block_postnorm", ModelConfig::Norm::post},
                                              {"decoder_block_prenorm", ModelConfig::Norm::pre}};

}  // namespace

TEST_CASE("a decoder block reproduces the reference, gradients included") {
  for (const Setting& setting : settings()) {
    for (const BlockCase& block : decoder_cases) {
      INFO(block.name);
      GoldenModule run(block.name, setting);
      const TransformerDecoderBlock decoder(run.scope(), block_config(block), 0);
      load_all(run);
      const Tensor x = run.watch("X"), memory = run.watch("enc_outputs");
      Context context;
      std::vector<SeenWeights> seen;
      record_weights(context, seen);
      const Tensor output =
          decoder(x, decoder.project_memory(memory), run.integers("enc_valid_lens"), context);
      run.check(output, "out");
      REQUIRE(seen.size() == 2);
      CHECK(seen[0].kind == AttentionKind::decoder_self);
      CHECK(seen[1].kind == AttentionKind::cross);
      run.check(seen[0].values, run.golden().values("self_weights"), "self_weights");
      run.check(seen[1].values, run.golden().values("cross_weights"), "cross_weights");
      run.backward(output, "cot_out");
      run.check_gradient(x, "grad_X");
      run.check_gradient(memory, "grad_enc_outputs");
      check_gradients(run);
    }
  }
}

TEST_CASE("decoding step by step with kept keys and values gives the rows of the whole sequence") {
  for (const Setting& setting : settings()) {
    for (const BlockCase& block : decoder_cases) {
      INFO(block.name);
      GoldenModule run(block.name, setting);
      const TransformerDecoderBlock decoder(run.scope(), block_config(block), 0);
      load_all(run);
      run.store().stop_training();
      constexpr std::int64_t batch = 2, steps = 4, width = 8, source_steps = 5;
      const auto integers = [&](const std::vector<std::int32_t>& values, const Shape& shape) {
        return Tensor::from<std::int32_t>(setting.device, values, shape);
      };
      const KeyValueCache projected = decoder.project_memory(run.input("enc_outputs"));
      REQUIRE(projected.keys.shape() == Shape{batch, source_steps, width});
      const auto flat = [&](const Tensor& x) { return x.reshaped({batch * source_steps, width}); };
      const SharedKeyValueCache memory{flat(projected.keys), flat(projected.values),
                                       integers({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {batch, source_steps})};
      const auto cache = [&] { return Tensor::zeros(setting.device, {batch * steps, width}, setting.type); };
      SharedKeyValueCache past{cache(), cache(), {}};
      Context context;
      std::vector<double> rows;
      for (std::int32_t t = 0; t < steps; ++t) {
        const std::int32_t next = t * batch;
        std::vector<std::int32_t> past_rows;
        for (std::int32_t sentence = 0; sentence < batch; ++sentence) {
          for (std::int32_t step = 0; step <= t; ++step) past_rows.push_back(step * batch + sentence);
        }
        past.rows = integers(past_rows, {batch, t + 1});
        const Tensor row =
            decoder.step(ops::slice_axis(run.input("X"), 1, t, 1), past, memory,
                         run.integers("enc_valid_lens"), integers({next}, Shape{}), next, context);
        const auto values = row.to_vector<double>();
        rows.insert(rows.end(), values.begin(), values.end());
      }
      const auto expected = permuted(run.golden().values("out"), {batch, steps, width}, {1, 0, 2});
      run.check(rows, expected, "out");
    }
  }
}
