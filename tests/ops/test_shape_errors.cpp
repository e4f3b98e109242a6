#include <array>
#include <functional>

#include "attn/ops/ops.h"
#include "scenario.h"
#include "support/catch.h"
#include "support/error_of.h"

namespace {

using namespace attn;
using namespace attn::test;

struct WrongUse {
  std::vector<std::string>
      parts;  // what the message has to say: the operation, what was found, what was expected
  std::function<void()> use;
};

void check(const std::vector<WrongUse>& uses) {
  for (const WrongUse& wrong : uses) {
    INFO(wrong.parts[0] << " " << wrong.parts[1]);
    const auto error = error_of(wrong.use);
    REQUIRE(error.has_value());
    CHECK(error->code() == ExitCode::internal);
    INFO(error->what());
    for (const std::string& part : wrong.parts) CHECK(contains(error->what(), part));
  }
}

class Maker {
 public:
  Tensor operator()(const Shape& shape, DType type = DType::f32) const {
    return Tensor::zeros(device_, shape, type);
  }

 private:
  std::shared_ptr<Device> device_ = reference_device();
};

}  // namespace

TEST_CASE(
    "wrong operands of elementwise operations, products and reductions are errors that say what was "
    "expected") {
  const Maker make;
  check({
      {{"binary", "[2, 3]", "[4]"},
       [&] {
         ops::add(make({2, 3}), make({4}));
       }},
      {{"binary", "f32", "f64"}, [&] { ops::add(make({2}), make({2}, DType::f64)); }},
      {{"unary", "i32", "f32 or f64"}, [&] { ops::exp(make({2}, DType::i32)); }},
      {{"select", "[2, 3]", "[4]"},
       [&] {
         ops::select(make({3}), make({2, 3}), make({4}));
       }},
      {{"select", "[5]", "[2, 3]"},
       [&] {
         ops::select(make({5}), make({2, 3}), make({3}));
       }},
      {{"select", "f32", "f64"}, [&] { ops::select(make({3}), make({3}), make({3}, DType::f64)); }},
      {{"matmul", "[2, 3]", "[4, 5]", "3 and 4"},
       [&] {
         ops::matmul(make({2, 3}), make({4, 5}));
       }},
      {{"matmul", "[2, 3] transposed", "2 and 3"},
       [&] {
         ops::matmul(make({2, 3}), make({3, 5}), {.transpose_a = true});
       }},
      {{"matmul", "[3]", "at least 2"},
       [&] {
         ops::matmul(make({3}), make({3, 5}));
       }},
      {{"matmul", "[2, 2, 3]", "[4, 3, 5]", "leading"},
       [&] {
         ops::matmul(make({2, 2, 3}), make({4, 3, 5}));
       }},
      {{"matmul", "f32", "f64"},
       [&] {
         ops::matmul(make({2, 3}), make({3, 5}, DType::f64));
       }},
      {{"reduce", "i32", "f32 or f64"}, [&] { ops::sum(make({2}, DType::i32)); }},
      {{"axis 2", "[2, 3]"},
       [&] {
         ops::sum(make({2, 3}), std::array{2});
       }},
      {{"argmax", "scalar", "[..., classes]"}, [&] { ops::argmax(make({})); }},
      {{"log_sum_exp", "scalar", "[..., classes]"}, [&] { ops::log_sum_exp(make({})); }},
      {{"top_k", "k is 4", "[2, 3]"},
       [&] {
         ops::top_k(make({2, 3}), 4);
       }},
      {{"top_k", "k is 0", "1 to"},
       [&] {
         ops::top_k(make({2, 3}), 0);
       }},
      {{"squared_norm", "0 tensors", "1 to 15"}, [&] { ops::squared_norm({}); }},
  });
}

TEST_CASE("wrong operands of operations that move data are errors that say what was expected") {
  const Maker make;
  const Tensor ids = make({2}, DType::i32);
  check({
      {{"permute", "2 axes", "[2, 3, 4]"},
       [&] {
         ops::permute(make({2, 3, 4}), std::array{0, 1});
       }},
      {{"permute", "twice", "[2, 3]"},
       [&] {
         ops::permute(make({2, 3}), std::array{1, -1});
       }},
      {{"slice", "[2, 2]", "[1, 2]", "[2, 3]"},
       [&] {
         ops::slice(make({2, 3}), std::array<std::int64_t, 2>{1, 2}, {2, 2});
       }},
      {{"slice", "[-1, 0]", "[2, 3]"},
       [&] {
         ops::slice(make({2, 3}), std::array<std::int64_t, 2>{-1, 0}, {1, 1});
       }},
      {{"slice_add", "[2, 2]", "[2, 3]"},
       [&] {
         ops::slice_add(make({2, 3}), make({2, 2}), std::array<std::int64_t, 2>{0, 2});
       }},
      {{"concatenate", "[2, 3]", "[4, 3]", "axis 1"},
       [&] {
         ops::concatenate(std::array{make({4, 3}), make({2, 3})}, 1);
       }},
      {{"concatenate", "f64", "f32"},
       [&] {
         ops::concatenate(std::array{make({2}), make({2}, DType::f64)}, 0);
       }},
      {{"concatenate", "16 tensors", "1 to 15"}, [&] { ops::concatenate(std::vector(16, make({1})), 0); }},
      {{"gather_rows", "f32", "i32"},
       [&] {
         ops::gather_rows(make({3, 2}), make({2}));
       }},
      {{"gather_rows", "scalar", "[rows, ...]"}, [&] { ops::gather_rows(make({}), ids); }},
      {{"scatter_add_rows", "[3, 2]", "[2, 2]"},
       [&] {
         ops::scatter_add_rows(make({4, 2}), make({3, 2}), ids);
       }},
      {{"scatter_add_rows", "[4]", "2 dimensions"},
       [&] { ops::scatter_add_rows(make({4}), make({2}), ids); }},
      {{"copy", "[2, 3]", "[5]"},
       [&] {
         ops::copy_into(make({5}), make({2, 3}));
       }},
      {{"unfold_1d", "[2, 3]", "3 dimensions"},
       [&] {
         ops::unfold_1d(make({2, 3}), {});
       }},
      {{"unfold_1d", "over 5 steps", "4 steps"},
       [&] {
         ops::unfold_1d(make({1, 4, 2}), {3, 1, 2, 0, 0});
       }},
      {{"unfold_1d", "stride 0", "at least 1"},
       [&] {
         ops::unfold_1d(make({1, 4, 2}), {3, 0, 1, 0, 0});
       }},
      {{"cached_attention", "rows is [3, 5]", "expected [2, 5]"},
       [&] {
         ops::cached_attention(make({2, 1, 4}), make({7, 4}), make({7, 4}), make({3, 5}, DType::i32), {});
       }},
      {{"cached_attention", "values is [6, 4]", "expected [7, 4]"},
       [&] {
         ops::cached_attention(make({2, 1, 4}), make({7, 4}), make({6, 4}), make({2, 5}, DType::i32), {});
       }},
      {{"cached_attention", "dropout of 0.5", "expected none"},
       [&] {
         ops::cached_attention(make({2, 1, 4}), make({7, 4}), make({7, 4}), make({2, 5}, DType::i32),
                               {1, 1.0, {}, {0.5, {}, 0}, false});
       }},
      {{"kv_append", "[2, 1, 4]", "[2, 1, 3]"},
       [&] {
         ops::kv_append(make({2, 5, 3}), make({2, 1, 4}), make({}, DType::i32), 0);
       }},
      {{"kv_append", "4 to 6", "5 steps"},
       [&] {
         ops::kv_append(make({2, 5, 3}), make({2, 2, 3}), make({}, DType::i32), 4);
       }},
  });
}

TEST_CASE("wrong operands of attention are errors that say what was expected") {
  const Maker make;
  const Tensor q = make({2, 3, 4}), k = make({2, 5, 4}), v = make({2, 5, 6});
  const auto lengths = [&](const Shape& shape, DType type = DType::i32) {
    return ops::Mask{make(shape, type)};
  };
  const ops::Dropout no_random{0.5, {}, 0}, bad_rate{1.0, make({4}, DType::i32), 0};
  check({
      {{"masked_softmax", "[3]", "[..., queries, keys]"}, [&] { ops::masked_softmax(make({3})); }},
      {{"masked_softmax", "f32", "i32"}, [&] { ops::masked_softmax(q, lengths({2}, DType::f32)); }},
      {{"masked_softmax", "[3]", "[batch] or [batch, 3]"}, [&] { ops::masked_softmax(q, lengths({3})); }},
      {{"masked_softmax", "[2, 4]", "[batch, 3]"},
       [&] {
         ops::masked_softmax(q, lengths({2, 4}));
       }},
      {{"attention", "query is [3, 4]", "3 dimensions"},
       [&] {
         ops::attention(make({3, 4}), k, v, {});
       }},
      {{"attention", "key is [2, 5, 3]", "[2, 5, 4]"},
       [&] {
         ops::attention(q, make({2, 5, 3}), v, {});
       }},
      {{"attention", "value is [2, 4, 6]", "[2, 5, 6]"},
       [&] {
         ops::attention(q, k, make({2, 4, 6}), {});
       }},
      {{"attention", "[2, 3, 4]", "3 heads"},
       [&] {
         ops::attention(q, k, v, {3, 1, {}, {}, false});
       }},
      {{"attention", "[2, 5, 6]", "4 heads"},
       [&] {
         ops::attention(q, k, v, {4, 1, {}, {}, false});
       }},
      {{"attention", "0 heads"},
       [&] {
         ops::attention(q, k, v, {0, 1, {}, {}, false});
       }},
      {{"attention", "valid_lengths is [2, 5]", "[2] or [2, 3]"},
       [&] {
         ops::attention(q, k, v, {1, 1, lengths({2, 5}), {}, false});
       }},
      {{"attention", "random"},
       [&] {
         ops::attention(q, k, v, {1, 1, {}, no_random, false});
       }},
      {{"attention", "rate is 1", "below 1"},
       [&] {
         ops::attention(q, k, v, {1, 1, {}, bad_rate, false});
       }},
      {{"additive_attention", "key is [2, 5, 3]", "[2, 5, 4]"},
       [&] {
         ops::additive_attention(q, make({2, 5, 3}), make({4}), v, {}, {});
       }},
      {{"additive_attention", "score_weight is [3]", "[4]"},
       [&] { ops::additive_attention(q, k, make({3}), v, {}, {}); }},
      {{"additive_attention", "value is [2, 3, 6]", "[2, 5, 6]"},
       [&] {
         ops::additive_attention(q, k, make({4}), make({2, 3, 6}), {}, {});
       }},
      {{"additive_attention", "valid_lengths is [5]", "[2]"},
       [&] { ops::additive_attention(q, k, make({4}), v, lengths({5}), {}); }},
  });
}

TEST_CASE("wrong operands of layers, losses and optimizers are errors that say what was expected") {
  const Maker make;
  const Tensor x = make({2, 3, 4}), ids = make({2, 3}, DType::i32), control = make({4});
  check({
      {{"linear", "[2, 3, 4]", "[..., 5]"},
       [&] {
         ops::linear(x, make({6, 5}));
       }},
      {{"linear", "bias is [4]", "[6]"},
       [&] {
         ops::linear(x, make({6, 4}), make({4}));
       }},
      {{"linear", "weight is [4]", "2 dimensions"}, [&] { ops::linear(x, make({4})); }},
      {{"layer_norm", "[3]", "[2, 3, 4]"}, [&] { ops::layer_norm(x, make({3}), make({3}), 1e-5); }},
      {{"layer_norm", "bias is [3]", "[4]"}, [&] { ops::layer_norm(x, make({4}), make({3}), 1e-5); }},
      {{"layer_norm", "residual is [2, 4]", "[2, 3, 4]"},
       [&] {
         ops::layer_norm(x, make({4}), make({4}), 1e-5, make({2, 4}));
       }},
      {{"layer_norm", "random"},
       [&] {
         ops::layer_norm(x, make({4}), make({4}), 1e-5, {}, {0.5, {}, 0});
       }},
      {{"batch_norm", "[2, 3, 4]", "2 dimensions"}, [&] { ops::batch_norm(x, make({4}), make({4}), 1e-5); }},
      {{"batch_norm", "gain is [3]", "[4]"},
       [&] {
         ops::batch_norm(make({2, 4}), make({3}), make({4}), 1e-5);
       }},
      {{"gru_sequence", "weight is [8, 3]", "[9, 3]"},
       [&] {
         ops::gru_sequence(make({4, 2, 9}), make({2, 3}), make({8, 3}), {});
       }},
      {{"gru_sequence", "input_gates is [4, 2, 8]", "[4, 2, 9]"},
       [&] {
         ops::gru_sequence(make({4, 2, 8}), make({2, 3}), make({9, 3}), {});
       }},
      {{"gru_sequence", "initial_state is [3, 3]", "[2, 3]"},
       [&] {
         ops::gru_sequence(make({4, 2, 9}), make({3, 3}), make({9, 3}), {});
       }},
      {{"gru_sequence", "bias is [3]", "[9]"},
       [&] {
         ops::gru_sequence(make({4, 2, 9}), make({2, 3}), make({9, 3}), make({3}));
       }},
      {{"conv_1d", "weight is [5, 3, 2]", "[5, 3, 4]"},
       [&] {
         ops::conv_1d(x, make({5, 3, 2}), {}, {3});
       }},
      {{"conv_1d", "bias is [4]", "[5]"},
       [&] {
         ops::conv_1d(x, make({5, 3, 4}), make({4}), {3});
       }},
      {{"conv_1d", "5 steps", "3 steps"},
       [&] {
         ops::conv_1d(x, make({5, 5, 4}), {}, {5});
       }},
      {{"embed", "ids has type f32", "i32"},
       [&] {
         ops::embed(make({6, 4}), make({2, 3}), {});
       }},
      {{"embed", "table is [6]", "2 dimensions"}, [&] { ops::embed(make({6}), ids, {}); }},
      {{"embed", "positions are [2, 4]", "[at least 3, 4]"},
       [&] {
         ops::embed(make({6, 4}), ids, make({2, 4}));
       }},
      {{"embed", "positions are [4, 4]", "[at least 5, 4]"},
       [&] {
         ops::embed(make({6, 4}), ids, make({4, 4}), {1.0, 2, -1, {}});
       }},
      {{"cross_entropy", "logits is [2, 3, 4]", "2 dimensions"}, [&] { ops::cross_entropy(x, ids); }},
      {{"cross_entropy", "labels is [2, 3]", "[6]"},
       [&] {
         ops::cross_entropy(make({6, 4}), ids);
       }},
      {{"cross_entropy", "labels has type f32", "i32"},
       [&] {
         ops::cross_entropy(make({6, 4}), make({6}));
       }},
      {{"cross_entropy", "smoothing is 1", "below 1"},
       [&] {
         ops::cross_entropy(make({6, 4}), make({6}, DType::i32), {1.0, ATTN_SMOOTH_UNIFORM, -1});
       }},
      {{"dropout", "rate is -0.5", "at least 0"},
       [&] {
         ops::dropout(x, {-0.5, make({4}, DType::i32), 0});
       }},
      {{"adam", "[5]", "[4]"}, [&] { ops::adam(make({4}), make({4}), make({5}), make({4}), control, {}); }},
      {{"adam", "control is [3]", "[4]"}, [&] { ops::adam(x, x, x, x, make({3}), {}); }},
      {{"sgd", "gradient is [5]", "[4]"}, [&] { ops::sgd(make({4}), {}, make({5}), control, 0, 0); }},
      {{"sgd", "0.9", "velocity"}, [&] { ops::sgd(make({4}), {}, make({4}), control, 0.9, 0); }},
      {{"clip_by_norm", "0 tensors", "1 to 15"}, [&] { ops::clip_by_norm({}, make({}), 1.0); }},
  });
}
