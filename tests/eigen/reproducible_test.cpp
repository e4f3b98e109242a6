// All kernels through the functions of the plugin: the same bits at any number of threads and every time.
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "attn/op_kinds.h"
#include "plugin.h"
#include "support/catch.h"

namespace attn::eigen::test {
namespace {

using Sizes = std::vector<std::int64_t>;

struct Tensor {
  attn_tensor descriptor{};
  std::vector<std::byte> bytes;
};

// A descriptor with memory of its own; outputs begin with random numbers too, so that they may be added to.
class Operation {
 public:
  Operation(std::string name, std::uint32_t kind) : name_(std::move(name)), kind_(kind) {}

  template<class Params>
  Operation& params(Params params) {
    params.struct_size = sizeof params;
    params_.resize(sizeof params);
    std::memcpy(params_.data(), &params, sizeof params);
    return *this;
  }
  Operation& in(const Sizes& sizes, double low = -1, double high = 1) { return add(false, sizes, low, high); }
  Operation& out(const Sizes& sizes) { return add(true, sizes, 0.5, 1); }
  Operation& ids(const Sizes& sizes, int bound) {
    tensors_.push_back(make(ATTN_I32, sizes));
    auto* values = reinterpret_cast<std::int32_t*>(tensors_.back().bytes.data());
    for (std::size_t i = 0; i < tensors_.back().bytes.size() / 4; ++i) {
      values[i] = static_cast<std::int32_t>(generator_() % static_cast<unsigned>(bound));
    }
    ++inputs_;
    return *this;
  }
  Operation& out_ids(const Sizes& sizes) {
    tensors_.push_back(make(ATTN_I32, sizes));
    return *this;
  }
  Operation& absent() {
    Tensor tensor;
    tensor.descriptor.rank = -1;
    tensors_.push_back(tensor);
    ++inputs_;
    return *this;
  }

  const std::string& name() const { return name_; }
  // The bytes of all outputs after running on copies of the tensors.
  std::vector<std::vector<std::byte>> run(int threads) const {
    std::vector<Tensor> tensors = tensors_;
    std::vector<attn_tensor> descriptors;
    for (Tensor& tensor : tensors) {
      tensor.descriptor.data = tensor.bytes.data();
      descriptors.push_back(tensor.descriptor);
    }
    const attn_op op{kind_, static_cast<std::uint16_t>(inputs_),
                     static_cast<std::uint16_t>(tensors.size() - inputs_), descriptors.data(),
                     params_.empty() ? nullptr : params_.data()};
    const attn_options options{sizeof(attn_options), 0, threads, 1, 0};
    attn_context* context = nullptr;
    attn_error error{};
    REQUIRE(plugin::open(&options, &context, &error) == ATTN_OK);
    attn_batch batch{};
    batch.struct_size = sizeof batch;
    batch.count = 1;
    batch.ops = &op;
    const attn_status status = plugin::run(context, &batch, &error);
    plugin::close(context);
    INFO(name_ << ": " << error.message);
    REQUIRE(status == ATTN_OK);
    std::vector<std::vector<std::byte>> results;
    for (std::size_t i = inputs_; i < tensors.size(); ++i) results.push_back(tensors[i].bytes);
    return results;
  }

 private:
  static Tensor make(std::int32_t dtype, const Sizes& sizes) {
    Tensor tensor;
    tensor.descriptor.dtype = dtype;
    tensor.descriptor.rank = static_cast<std::int32_t>(sizes.size());
    std::size_t count = 1;
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      tensor.descriptor.dims[axis] = sizes[axis];
      count *= static_cast<std::size_t>(sizes[axis]);
    }
    tensor.bytes.resize(count * 4);
    return tensor;
  }
  Operation& add(bool output, const Sizes& sizes, double low, double high) {
    tensors_.push_back(make(ATTN_F32, sizes));
    auto* values = reinterpret_cast<float*>(tensors_.back().bytes.data());
    for (std::size_t i = 0; i < tensors_.back().bytes.size() / 4; ++i) {
      values[i] = static_cast<float>(low + (high - low) * (generator_() % 65536) / 65536.0);
    }
    if (!output) ++inputs_;
    return *this;
  }

  std::string name_;
  std::uint32_t kind_;
  std::size_t inputs_ = 0;
  std::vector<Tensor> tensors_;
  std::vector<std::byte> params_;
  std::mt19937 generator_{5};
};

// Large enough that the kernels share out the work.
std::vector<Operation> basic_operations() {
  std::vector<Operation> all;
  all.emplace_back("exp", ATTN_OP_UNARY)
      .params(attn_unary_params{0, ATTN_UNARY_EXP})
      .in({70001})
      .out({70001});
  all.emplace_back("gelu", ATTN_OP_UNARY)
      .params(attn_unary_params{0, ATTN_UNARY_GELU})
      .in({9001})
      .out({9001});
  all.emplace_back("multiply", ATTN_OP_BINARY)
      .params(attn_binary_params{0, ATTN_BINARY_MULTIPLY})
      .in({40, 30, 61})
      .in({30, 1})
      .out({40, 30, 61});
  all.emplace_back("matmul", ATTN_OP_MATMUL)
      .params(attn_matmul_params{0, 0, 1, 0, 0.5, 1.0})
      .in({6, 70, 65})
      .in({6, 75, 65})
      .out({6, 70, 75});
  for (const std::uint32_t axes : {1u, 2u, 3u, 5u}) {
    const Sizes kept = {(axes & 1u) != 0 ? 1 : 37, (axes & 2u) != 0 ? 1 : 41, (axes & 4u) != 0 ? 1 : 53};
    all.emplace_back("sum over axes " + std::to_string(axes), ATTN_OP_REDUCE)
        .params(attn_reduce_params{0, ATTN_REDUCE_SUM, axes, 1})
        .in({37, 41, 53})
        .out(kept);
  }
  all.emplace_back("sum of all", ATTN_OP_REDUCE)
      .params(attn_reduce_params{0, ATTN_REDUCE_SUM, 1, 0})
      .in({150001})
      .out({});
  all.emplace_back("squared norm", ATTN_OP_SQUARED_NORM).in({90001}).in({70, 7}).out({});
  all.emplace_back("masked softmax", ATTN_OP_MASKED_SOFTMAX)
      .params(attn_masked_softmax_params{0, 0, ATTN_MASK_EXACT, 1, 0})
      .in({8, 60, 75})
      .ids({4}, 80)
      .out({8, 60, 75});
  all.emplace_back("permute", ATTN_OP_PERMUTE)
      .params(attn_permute_params{0, {0, 2, 1, 3}})
      .in({9, 31, 4, 40})
      .out({9, 4, 31, 40});
  all.emplace_back("dropout", ATTN_OP_DROPOUT)
      .params(attn_dropout_params{0, 3, 0.4})
      .in({70001})
      .ids({4}, 1000)
      .out({70001});
  all.emplace_back("top k", ATTN_OP_TOP_K).in({40, 900}).out({40, 5}).out_ids({40, 5});
  all.emplace_back("log sum exp", ATTN_OP_LOG_SUM_EXP).in({40, 900}).out({40});
  all.emplace_back("scatter add", ATTN_OP_SCATTER_ADD_ROWS)
      .params(attn_scatter_params{0, -1})
      .in({400, 130})
      .ids({400}, 20)
      .out({20, 130});
  return all;
}

std::vector<Operation> layer_operations() {
  std::vector<Operation> all;
  all.emplace_back("linear", ATTN_OP_LINEAR)
      .params(attn_linear_params{0, 0, ATTN_ACTIVATION_TANH, 0})
      .in({201, 130})
      .in({170, 130})
      .in({170})
      .out({201, 170});
  all.emplace_back("linear gradient", ATTN_OP_LINEAR_GRADIENT)
      .params(attn_linear_params{0, 2, ATTN_ACTIVATION_TANH, 0})
      .in({201, 130})
      .in({170, 130})
      .in({201, 170})
      .in({201, 170})
      .out({201, 130})
      .out({170, 130})
      .out({170});
  all.emplace_back("layer norm", ATTN_OP_LAYER_NORM)
      .params(attn_layer_norm_params{0, 0, 2, 0, 1e-5, 0.1})
      .in({700, 70})
      .in({70})
      .in({70})
      .in({700, 70})
      .ids({4}, 1000)
      .out({700, 70})
      .out({700})
      .out({700})
      .out({700, 70});
  all.emplace_back("layer norm gradient", ATTN_OP_LAYER_NORM_GRADIENT)
      .params(attn_layer_norm_params{0, 1, 2, 0, 1e-5, 0.1})
      .in({700, 70})
      .in({70})
      .in({700})
      .in({700}, 0.5, 2)
      .in({700, 70})
      .in({700, 70})
      .ids({4}, 1000)
      .out({700, 70})
      .out({70})
      .out({70})
      .out({700, 70});
  all.emplace_back("batch norm", ATTN_OP_BATCH_NORM)
      .params(attn_batch_norm_params{0, 0, 1e-5})
      .in({900, 130})
      .in({130})
      .in({130})
      .out({900, 130})
      .out({130})
      .out({130});
  all.emplace_back("batch norm gradient", ATTN_OP_BATCH_NORM_GRADIENT)
      .params(attn_batch_norm_params{0, 0, 1e-5})
      .in({900, 130})
      .in({130})
      .in({130})
      .in({130}, 0.5, 2)
      .in({900, 130})
      .out({900, 130})
      .out({130})
      .out({130});
  all.emplace_back("convolution", ATTN_OP_CONV_1D)
      .params(attn_window_params{0, 0, 3, 1, 1, 1})
      .in({5, 90, 33})
      .in({40, 3, 33})
      .in({40})
      .out({5, 90, 40});
  all.emplace_back("convolution gradient", ATTN_OP_CONV_1D_GRADIENT)
      .params(attn_window_params{0, 0, 3, 1, 1, 1})
      .in({5, 90, 33})
      .in({40, 3, 33})
      .in({5, 90, 40})
      .out({5, 90, 33})
      .out({40, 3, 33})
      .out({40});
  all.emplace_back("embed", ATTN_OP_EMBED)
      .params(attn_embed_params{0, 0, 1, -1, 2, 3.0, 0.1})
      .in({50, 70})
      .ids({30, 40}, 50)
      .in({60, 70})
      .ids({4}, 1000)
      .out({30, 40, 70});
  all.emplace_back("embed gradient", ATTN_OP_EMBED_GRADIENT)
      .params(attn_embed_params{0, 1, 1, 7, 2, 3.0, 0.1})
      .ids({30, 40}, 50)
      .in({30, 40, 70})
      .ids({4}, 1000)
      .out({50, 70})
      .out({60, 70});
  return all;
}

std::vector<Operation> attention_operations() {
  std::vector<Operation> all;
  const attn_attention_params params{0, 0, 4, ATTN_MASK_EXACT, 1, 5, 0, 0.25, 0.1};
  all.emplace_back("attention", ATTN_OP_ATTENTION)
      .params(params)
      .in({3, 70, 64})
      .in({3, 80, 64})
      .in({3, 80, 48})
      .ids({3}, 90)
      .ids({4}, 1000)
      .out({3, 70, 48})
      .out({3, 4, 70})
      .out({3, 4, 70, 80});
  all.emplace_back("attention gradient", ATTN_OP_ATTENTION_GRADIENT)
      .params(params)
      .in({3, 70, 64})
      .in({3, 80, 64})
      .in({3, 80, 48})
      .ids({3}, 90)
      .ids({4}, 1000)
      .in({3, 70, 48})
      .in({3, 4, 70}, 3, 4)
      .in({3, 70, 48})
      .out({3, 70, 64})
      .out({3, 80, 64})
      .out({3, 80, 48});
  const attn_attention_params additive{0, 0, 1, ATTN_MASK_EXACT, 0, 5, 0, 1.0, 0.1};
  all.emplace_back("additive attention", ATTN_OP_ADDITIVE_ATTENTION)
      .params(additive)
      .in({9, 20, 33})
      .in({9, 30, 33})
      .in({33})
      .in({9, 30, 40})
      .ids({9}, 32)
      .ids({4}, 1000)
      .out({9, 20, 40})
      .out({9, 20, 30});
  all.emplace_back("additive attention gradient", ATTN_OP_ADDITIVE_ATTENTION_GRADIENT)
      .params(additive)
      .in({9, 20, 33})
      .in({9, 30, 33})
      .in({33})
      .in({9, 30, 40})
      .ids({9}, 32)
      .ids({4}, 1000)
      .in({9, 20, 30}, 0, 0.1)
      .in({9, 20, 40})
      .out({9, 20, 33})
      .out({9, 30, 33})
      .out({33})
      .out({9, 30, 40});
  all.emplace_back("gru sequence", ATTN_OP_GRU_SEQUENCE)
      .in({7, 40, 3 * 64})
      .in({40, 64})
      .in({3 * 64, 64})
      .in({3 * 64})
      .out({7, 40, 64})
      .out({7, 40, 4 * 64});
  all.emplace_back("gru sequence gradient", ATTN_OP_GRU_SEQUENCE_GRADIENT)
      .params(attn_gradient_params{0, 0})
      .in({40, 64})
      .in({3 * 64, 64})
      .in({7, 40, 64})
      .in({7, 40, 4 * 64}, 0, 1)
      .in({7, 40, 64})
      .out({7, 40, 3 * 64})
      .out({40, 64})
      .out({3 * 64, 64})
      .out({3 * 64});
  return all;
}

std::vector<Operation> training_operations() {
  std::vector<Operation> all;
  for (const std::int32_t kind : {ATTN_SMOOTH_UNIFORM, ATTN_SMOOTH_OTHERS}) {
    const attn_cross_entropy_params params{0, 0, kind, 0, 0.1};
    all.emplace_back("cross entropy", ATTN_OP_CROSS_ENTROPY)
        .params(params)
        .in({120, 301})
        .ids({120}, 301)
        .out({120})
        .out({120});
    all.emplace_back("cross entropy gradient", ATTN_OP_CROSS_ENTROPY_GRADIENT)
        .params(params)
        .in({120, 301})
        .ids({120}, 301)
        .in({120}, 6, 7)
        .in({120})
        .out({120, 301});
  }
  all.emplace_back("adam", ATTN_OP_ADAM)
      .params(attn_adam_params{0, 1, 0.9, 0.999, 1e-8, 0.01})
      .in({70003})
      .in({4}, 0.1, 0.9)
      .out({70003})
      .out({70003})
      .out({70003});
  all.emplace_back("sgd", ATTN_OP_SGD)
      .params(attn_sgd_params{0, 0, 0.9, 0.01})
      .in({70003})
      .in({4}, 0.1, 0.9)
      .out({70003})
      .out({70003});
  all.emplace_back("clip by norm", ATTN_OP_CLIP_BY_NORM)
      .params(attn_clip_params{0, 0, 0.5, 0})
      .in({}, 4, 5)
      .out({70003})
      .out({3});
  return all;
}

void check(const std::vector<Operation>& operations) {
  for (const Operation& operation : operations) {
    const auto expected = operation.run(1);
    for (const int threads : {1, 2, 3}) {
      INFO(operation.name() << " with " << threads << " threads");
      CHECK((operation.run(threads) == expected));
    }
  }
}

}  // namespace

TEST_CASE("basic operations give the same bits at any number of threads") {
  check(basic_operations());
}
TEST_CASE("layers give the same bits at any number of threads") {
  check(layer_operations());
}
TEST_CASE("attention and recurrent sequences give the same bits at any number of threads") {
  check(attention_operations());
}
TEST_CASE("losses and optimizers give the same bits at any number of threads") {
  check(training_operations());
}

}  // namespace attn::eigen::test
