#include "operations.h"

namespace attn::eigen::test {

std::vector<Operation> basic_operations(std::int32_t real) {
  std::vector<Operation> all;
  all.emplace_back("exp", ATTN_OP_UNARY, real)
      .params(attn_unary_params{0, ATTN_UNARY_EXP})
      .in({70001})
      .out({70001});
  all.emplace_back("gelu", ATTN_OP_UNARY, real)
      .params(attn_unary_params{0, ATTN_UNARY_GELU})
      .in({9001})
      .out({9001});
  all.emplace_back("multiply", ATTN_OP_BINARY, real)
      .params(attn_binary_params{0, ATTN_BINARY_MULTIPLY})
      .in({40, 30, 61})
      .in({30, 1})
      .out({40, 30, 61});
  all.emplace_back("matmul", ATTN_OP_MATMUL, real)
      .params(attn_matmul_params{0, 0, 1, 0, 0.5, 1.0})
      .in({6, 70, 65})
      .in({6, 75, 65})
      .in_out({6, 70, 75});
  for (const std::uint32_t axes : {1u, 2u, 3u, 5u}) {
    const Sizes kept = {(axes & 1u) != 0 ? 1 : 37, (axes & 2u) != 0 ? 1 : 41, (axes & 4u) != 0 ? 1 : 53};
    all.emplace_back("sum over axes " + std::to_string(axes), ATTN_OP_REDUCE, real)
        .params(attn_reduce_params{0, ATTN_REDUCE_SUM, axes, 1})
        .in({37, 41, 53})
        .in_out(kept);
  }
  all.emplace_back("sum of all", ATTN_OP_REDUCE, real)
      .params(attn_reduce_params{0, ATTN_REDUCE_SUM, 1, 0})
      .in({150001})
      .out({});
  all.emplace_back("squared norm", ATTN_OP_SQUARED_NORM, real).in({90001}).in({70, 7}).out({});
  all.emplace_back("masked softmax", ATTN_OP_MASKED_SOFTMAX, real)
      .params(attn_masked_softmax_params{0, 0, ATTN_MASK_EXACT, 1, 0})
      .in({8, 60, 75})
      .ids({4}, 80)
      .out({8, 60, 75});
  all.emplace_back("masked softmax gradient", ATTN_OP_MASKED_SOFTMAX_GRADIENT, real)
      .params(attn_masked_softmax_params{0, 0, ATTN_MASK_EXACT, 1, 0})
      .in({8, 60, 175})
      .in({8, 60, 175})
      .ids({4}, 180)
      .out({8, 60, 175});
  all.emplace_back("permute", ATTN_OP_PERMUTE, real)
      .params(attn_permute_params{0, {0, 2, 1, 3}})
      .in({9, 31, 4, 40})
      .out({9, 4, 31, 40});
  all.emplace_back("dropout", ATTN_OP_DROPOUT, real)
      .params(attn_dropout_params{0, 3, 0.4})
      .in({70001})
      .ids({4}, 1000)
      .out({70001});
  all.emplace_back("top k", ATTN_OP_TOP_K, real).in({40, 900}).out({40, 5}).out_ids({40, 5});
  all.emplace_back("log sum exp", ATTN_OP_LOG_SUM_EXP, real).in({40, 900}).out({40});
  all.emplace_back("scatter add", ATTN_OP_SCATTER_ADD_ROWS, real)
      .params(attn_scatter_params{0, -1})
      .in({400, 130})
      .ids({400}, 20)
      .in_out({20, 130});
  return all;
}

std::vector<Operation> moving_operations(std::int32_t real) {
  std::vector<Operation> all;
  all.emplace_back("fill", ATTN_OP_FILL, real).params(attn_fill_params{0, 0, 1.5}).out({90001});
  all.emplace_back("copy", ATTN_OP_COPY, real).in({90001}).out({90001});
  all.emplace_back("cast", ATTN_OP_CAST, real).ids({90001}, 1000).out({90001});
  all.emplace_back("affine", ATTN_OP_AFFINE, real)
      .params(attn_affine_params{0, 0, 2, 1})
      .in({90001})
      .out({90001});
  all.emplace_back("select", ATTN_OP_SELECT, real)
      .in({301, 1}, -1, 1)
      .in({300})
      .in({301, 300})
      .out({301, 300});
  all.emplace_back("argmax", ATTN_OP_ARGMAX, real).in({401, 300}).out_ids({401});
  all.emplace_back("slice", ATTN_OP_SLICE, real)
      .params(attn_slice_params{0, 0, {3, 1, 5}})
      .in({40, 51, 77})
      .out({35, 50, 70});
  all.emplace_back("slice add", ATTN_OP_SLICE_ADD, real)
      .params(attn_slice_params{0, 0, {3, 1, 5}})
      .in({35, 50, 70})
      .in_out({40, 51, 77});
  all.emplace_back("concatenate", ATTN_OP_CONCATENATE, real)
      .params(attn_concatenate_params{0, 1})
      .in({90, 31, 33})
      .in({90, 2, 33})
      .out({90, 33, 33});
  all.emplace_back("gather rows", ATTN_OP_GATHER_ROWS, real)
      .in({50, 130})
      .ids({31, 30}, 50)
      .out({31, 30, 130});
  const attn_window_params window{0, 0, 3, 2, 1, 1};
  all.emplace_back("unfold", ATTN_OP_UNFOLD_1D, real).params(window).in({9, 91, 70}).out({9, 46, 3 * 70});
  all.emplace_back("fold", ATTN_OP_FOLD_1D, real).params(window).in({9, 46, 3 * 70}).out({9, 91, 70});
  all.emplace_back("kv append", ATTN_OP_KV_APPEND, real).in({30, 40, 70}).ids({}, 10).in_out({30, 50, 70});
  return all;
}

std::vector<Operation> layer_operations(std::int32_t real) {
  std::vector<Operation> all;
  all.emplace_back("linear", ATTN_OP_LINEAR, real)
      .params(attn_linear_params{0, 0, ATTN_ACTIVATION_TANH, 0})
      .in({201, 130})
      .in({170, 130})
      .in({170})
      .out({201, 170});
  all.emplace_back("linear gradient", ATTN_OP_LINEAR_GRADIENT, real)
      .params(attn_linear_params{0, 2, ATTN_ACTIVATION_TANH, 0})
      .in({201, 130})
      .in({170, 130})
      .in({201, 170})
      .in({201, 170})
      .out({201, 130})
      .in_out({170, 130})
      .out({170});
  all.emplace_back("layer norm", ATTN_OP_LAYER_NORM, real)
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
  all.emplace_back("layer norm gradient", ATTN_OP_LAYER_NORM_GRADIENT, real)
      .params(attn_layer_norm_params{0, 1, 2, 0, 1e-5, 0.1})
      .in({700, 70})
      .in({70})
      .in({700})
      .in({700}, 0.5, 2)
      .in({700, 70})
      .in({700, 70})
      .ids({4}, 1000)
      .in_out({700, 70})
      .out({70})
      .out({70})
      .out({700, 70});
  all.emplace_back("batch norm", ATTN_OP_BATCH_NORM, real)
      .params(attn_batch_norm_params{0, 0, 1e-5})
      .in({900, 130})
      .in({130})
      .in({130})
      .out({900, 130})
      .out({130})
      .out({130});
  all.emplace_back("batch norm gradient", ATTN_OP_BATCH_NORM_GRADIENT, real)
      .params(attn_batch_norm_params{0, 0, 1e-5})
      .in({900, 130})
      .in({130})
      .in({130})
      .in({130}, 0.5, 2)
      .in({900, 130})
      .out({900, 130})
      .out({130})
      .out({130});
  all.emplace_back("convolution", ATTN_OP_CONV_1D, real)
      .params(attn_window_params{0, 0, 3, 1, 1, 1})
      .in({5, 90, 33})
      .in({40, 3, 33})
      .in({40})
      .out({5, 90, 40});
  all.emplace_back("convolution gradient", ATTN_OP_CONV_1D_GRADIENT, real)
      .params(attn_window_params{0, 0, 3, 1, 1, 1})
      .in({5, 90, 33})
      .in({40, 3, 33})
      .in({5, 90, 40})
      .out({5, 90, 33})
      .out({40, 3, 33})
      .out({40});
  all.emplace_back("embed", ATTN_OP_EMBED, real)
      .params(attn_embed_params{0, 0, 1, -1, 2, 3.0, 0.1})
      .in({50, 70})
      .ids({30, 40}, 50)
      .in({60, 70})
      .ids({4}, 1000)
      .out({30, 40, 70});
  all.emplace_back("embed gradient", ATTN_OP_EMBED_GRADIENT, real)
      .params(attn_embed_params{0, 1, 1, 7, 2, 3.0, 0.1})
      .ids({30, 40}, 50)
      .in({30, 40, 70})
      .ids({4}, 1000)
      .in_out({50, 70})
      .out({60, 70});
  return all;
}

std::vector<Operation> attention_operations(std::int32_t real) {
  std::vector<Operation> all;
  const attn_attention_params params{0, 0, 4, ATTN_MASK_EXACT, 1, 5, 0, 0.25, 0.1};
  all.emplace_back("attention", ATTN_OP_ATTENTION, real)
      .params(params)
      .in({3, 70, 64})
      .in({3, 80, 64})
      .in({3, 80, 48})
      .ids({3}, 90)
      .ids({4}, 1000)
      .out({3, 70, 48})
      .out({3, 4, 70})
      .out({3, 4, 70, 80});
  all.emplace_back("cached attention", ATTN_OP_CACHED_ATTENTION, real)
      .params(attn_attention_params{0, 0, 4, ATTN_MASK_EXACT, 0, 0, 0, 0.25, 0})
      .in({60, 5, 64})
      .in({90, 64})
      .in({90, 48})
      .ids({60, 80}, 90)
      .ids({60}, 90)
      .out({60, 5, 48})
      .out({60, 4, 5, 80});
  all.emplace_back("attention gradient", ATTN_OP_ATTENTION_GRADIENT, real)
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
  all.emplace_back("additive attention", ATTN_OP_ADDITIVE_ATTENTION, real)
      .params(additive)
      .in({9, 20, 33})
      .in({9, 30, 33})
      .in({33})
      .in({9, 30, 40})
      .ids({9}, 32)
      .ids({4}, 1000)
      .out({9, 20, 40})
      .out({9, 20, 30});
  all.emplace_back("additive attention gradient", ATTN_OP_ADDITIVE_ATTENTION_GRADIENT, real)
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
  all.emplace_back("gru sequence", ATTN_OP_GRU_SEQUENCE, real)
      .in({7, 40, 3 * 64})
      .in({40, 64})
      .in({3 * 64, 64})
      .in({3 * 64})
      .out({7, 40, 64})
      .out({7, 40, 4 * 64});
  all.emplace_back("gru sequence gradient", ATTN_OP_GRU_SEQUENCE_GRADIENT, real)
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

std::vector<Operation> training_operations(std::int32_t real) {
  std::vector<Operation> all;
  for (const std::int32_t kind : {ATTN_SMOOTH_UNIFORM, ATTN_SMOOTH_OTHERS}) {
    const attn_cross_entropy_params params{0, 0, kind, 0, 0.1};
    all.emplace_back("cross entropy", ATTN_OP_CROSS_ENTROPY, real)
        .params(params)
        .in({120, 301})
        .ids({120}, 301)
        .out({120})
        .out({120});
    all.emplace_back("cross entropy gradient", ATTN_OP_CROSS_ENTROPY_GRADIENT, real)
        .params(params)
        .in({120, 301})
        .ids({120}, 301)
        .in({120}, 6, 7)
        .in({120})
        .out({120, 301});
  }
  all.emplace_back("adam", ATTN_OP_ADAM, real)
      .params(attn_adam_params{0, 1, 0.9, 0.999, 1e-8, 0.01})
      .in({70003})
      .in({4}, 0.1, 0.9)
      .in_out({70003})
      .in_out({70003})
      .in_out({70003});
  all.emplace_back("sgd", ATTN_OP_SGD, real)
      .params(attn_sgd_params{0, 0, 0.9, 0.01})
      .in({70003})
      .in({4}, 0.1, 0.9)
      .in_out({70003})
      .in_out({70003});
  all.emplace_back("clip by norm", ATTN_OP_CLIP_BY_NORM, real)
      .params(attn_clip_params{0, 0, 0.5, 0})
      .in({}, 4, 5)
      .in_out({70003})
      .in_out({3});
  return all;
}

}  // namespace attn::eigen::test
