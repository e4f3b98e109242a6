#include "workload.h"

#include <cmath>

#include "attn/core/error.h"
#include "attn/runtime/random.h"

namespace attn::bench {
namespace {

// Makes the tensors of one case.
class Maker {
 public:
  Maker(const std::shared_ptr<Device>& device, const ShapeCase& shapes, DType type)
      : device_(device), shapes_(shapes), type_(type), random_(1, shapes.operation) {}

  std::int64_t operator[](const char* key) const { return shapes_.size(key); }

  /// Random values, small enough that nothing grows without bound.
  Tensor values(const Shape& shape) {
    const std::vector<double> list = uniform_values(random_, shape.elements(), 0.5);
    return Tensor::from<double>(device_, list, shape, type_);
  }
  Tensor ids(const Shape& shape, std::int64_t bound) {
    std::vector<std::int32_t> list(static_cast<std::size_t>(shape.elements()));
    for (std::int32_t& id : list)
      id = static_cast<std::int32_t>(random_.below(static_cast<std::uint64_t>(bound)));
    return Tensor::from<std::int32_t>(device_, list, shape);
  }
  Tensor numbers(const std::vector<double>& list) {
    return Tensor::from<double>(device_, list, Shape{static_cast<std::int64_t>(list.size())}, type_);
  }
  ops::Into target(const Shape& shape) const { return {Tensor(device_, shape, type_), false, true}; }
  static ops::Into unwanted() { return {{}, false, false}; }

 private:
  const std::shared_ptr<Device>& device_;
  const ShapeCase& shapes_;
  DType type_;
  RandomSequence random_;
};

Workload workload(std::uint32_t kind, ops::Tensors inputs, const ops::Params& params,
                  std::vector<ops::Into> into) {
  Workload made{ops::Call{ops::find_operation(kind), std::move(inputs), params, 0}, std::move(into)};
  for (std::size_t i = 0; i < made.into.size(); ++i) {
    if (made.into[i].wanted) made.call.wanted |= 1u << i;
  }
  return made;
}

std::vector<Workload> matmul(Maker& make) {
  const std::int64_t batch = make["batch"], m = make["m"], n = make["n"], k = make["k"];
  return {workload(ATTN_OP_MATMUL, {make.values({batch, m, k}), make.values({batch, k, n})},
                   attn_matmul_params{0, 0, 0, 0, 1, 0}, {make.target({batch, m, n})})};
}

std::vector<Workload> linear(Maker& make) {
  const Shape x{make["rows"], make["inputs"]}, weight{make["outputs"], make["inputs"]},
      y{make["rows"], make["outputs"]};
  const attn_linear_params params{0, 0, ATTN_ACTIVATION_NONE, 0};
  const Tensor in = make.values(x), w = make.values(weight);
  const Shape bias{make["outputs"]};
  return {workload(ATTN_OP_LINEAR, {in, w, make.values(bias)}, params, {make.target(y)}),
          workload(ATTN_OP_LINEAR_GRADIENT, {in, w, {}, make.values(y)}, params,
                   {make.target(x), make.target(weight), make.target(bias)})};
}

std::vector<Workload> masked_softmax(Maker& make) {
  const Shape shape{make["batch"], make["queries"], make["keys"]};
  const attn_masked_softmax_params params{0, 0, ATTN_MASK_EXACT, 0, 0};
  Workload forward = workload(ATTN_OP_MASKED_SOFTMAX, {make.values(shape), {}}, params, {make.target(shape)});
  forward.run();
  Workload gradient =
      workload(ATTN_OP_MASKED_SOFTMAX_GRADIENT, {forward.into[0].target, make.values(shape), {}}, params,
               {make.target(shape)});
  return {forward, gradient};
}

std::vector<Workload> attention(Maker& make) {
  const std::int64_t batch = make["batch"], heads = make["heads"], width = heads * make["size"];
  const Shape q{batch, make["queries"], width}, k{batch, make["keys"], width};
  const attn_attention_params params{0,
                                     0,
                                     static_cast<std::int32_t>(heads),
                                     ATTN_MASK_EXACT,
                                     make["causal"] != 0 ? 1 : 0,
                                     0,
                                     0,
                                     1 / std::sqrt(static_cast<double>(make["size"])),
                                     0.0};
  const Tensor query = make.values(q), key = make.values(k), value = make.values(k);
  Workload forward =
      workload(ATTN_OP_ATTENTION, {query, key, value, {}, {}}, params,
               {make.target(q), make.target({batch, heads, make["queries"]}), Maker::unwanted()});
  forward.run();
  Workload gradient =
      workload(ATTN_OP_ATTENTION_GRADIENT,
               {query, key, value, {}, {}, forward.into[0].target, forward.into[1].target, make.values(q)},
               params, {make.target(q), make.target(k), make.target(k)});
  return {forward, gradient};
}

std::vector<Workload> additive_attention(Maker& make) {
  const std::int64_t batch = make["batch"], hidden = make["hidden"];
  const Shape q{batch, make["queries"], hidden}, k{batch, make["keys"], hidden},
      v{batch, make["keys"], make["width"]}, y{batch, make["queries"], make["width"]};
  const attn_attention_params params{0, 0, 1, ATTN_MASK_EXACT, 0, 0, 0, 1.0, 0.0};
  const Tensor query = make.values(q), key = make.values(k), score = make.values({hidden}),
               value = make.values(v);
  Workload forward = workload(ATTN_OP_ADDITIVE_ATTENTION, {query, key, score, value, {}, {}}, params,
                              {make.target(y), make.target({batch, make["queries"], make["keys"]})});
  forward.run();
  Workload gradient =
      workload(ATTN_OP_ADDITIVE_ATTENTION_GRADIENT,
               {query, key, score, value, {}, {}, forward.into[1].target, make.values(y)}, params,
               {make.target(q), make.target(k), make.target({hidden}), make.target(v)});
  return {forward, gradient};
}

std::vector<Workload> layer_norm(Maker& make) {
  const Shape x{make["rows"], make["width"]}, gain{make["width"]}, rows{make["rows"]};
  const attn_layer_norm_params params{0, 0, 0, 0, 1e-5, 0.0};
  const Tensor in = make.values(x), g = make.values(gain);
  Workload forward = workload(ATTN_OP_LAYER_NORM, {in, g, make.values(gain), {}, {}}, params,
                              {make.target(x), make.target(rows), make.target(rows), Maker::unwanted()});
  forward.run();
  Workload gradient =
      workload(ATTN_OP_LAYER_NORM_GRADIENT,
               {in, g, forward.into[1].target, forward.into[2].target, make.values(x), {}, {}}, params,
               {make.target(x), make.target(gain), make.target(gain), Maker::unwanted()});
  return {forward, gradient};
}

std::vector<Workload> gru_sequence(Maker& make) {
  const std::int64_t steps = make["steps"], batch = make["batch"], hidden = make["hidden"];
  const Shape in{steps, batch, 3 * hidden}, state{batch, hidden}, weight{3 * hidden, hidden},
      states{steps, batch, hidden};
  const Shape bias{3 * hidden};
  const Tensor initial = make.values(state), w = make.values(weight);
  Workload forward = workload(ATTN_OP_GRU_SEQUENCE, {make.values(in), initial, w, make.values(bias)}, {},
                              {make.target(states), make.target({steps, batch, 4 * hidden})});
  forward.run();
  Workload gradient = workload(
      ATTN_OP_GRU_SEQUENCE_GRADIENT,
      {initial, w, forward.into[0].target, forward.into[1].target, make.values(states)},
      attn_gradient_params{}, {make.target(in), make.target(state), make.target(weight), make.target(bias)});
  return {forward, gradient};
}

std::vector<Workload> conv_1d(Maker& make) {
  const std::int64_t kernel = make["kernel"], outputs = make["outputs"];
  const Shape x{make["batch"], make["steps"], make["channels"]}, weight{outputs, kernel, make["channels"]},
      y{make["batch"], make["steps"], outputs}, bias{outputs};
  const attn_window_params params{0, 0, kernel, 1, 1, kernel / 2};
  const Tensor in = make.values(x), w = make.values(weight);
  return {workload(ATTN_OP_CONV_1D, {in, w, make.values(bias)}, params, {make.target(y)}),
          workload(ATTN_OP_CONV_1D_GRADIENT, {in, w, make.values(y)}, params,
                   {make.target(x), make.target(weight), make.target(bias)})};
}

std::vector<Workload> embed(Maker& make) {
  const Shape table{make["vocabulary"], make["width"]}, steps{make["batch"], make["steps"]},
      y = steps.appended(make["width"]);
  const attn_embed_params params{0, 0, 0, -1, 0, 1.0, 0.0};
  const Tensor ids = make.ids(steps, make["vocabulary"]);
  return {workload(ATTN_OP_EMBED, {make.values(table), ids, {}, {}}, params, {make.target(y)}),
          workload(ATTN_OP_EMBED_GRADIENT, {ids, make.values(y), {}}, params,
                   {make.target(table), Maker::unwanted()})};
}

std::vector<Workload> cross_entropy(Maker& make) {
  const Shape logits{make["tokens"], make["classes"]}, tokens{make["tokens"]};
  const attn_cross_entropy_params params{0, 0, ATTN_SMOOTH_UNIFORM, -1, 0.1};
  const Tensor in = make.values(logits), labels = make.ids(tokens, make["classes"]);
  Workload forward =
      workload(ATTN_OP_CROSS_ENTROPY, {in, labels}, params, {make.target(tokens), make.target(tokens)});
  forward.run();
  Workload gradient =
      workload(ATTN_OP_CROSS_ENTROPY_GRADIENT, {in, labels, forward.into[1].target, make.values(tokens)},
               params, {make.target(logits)});
  return {forward, gradient};
}

std::vector<Workload> adam(Maker& make) {
  const Shape shape{make["elements"]};
  const attn_adam_params params{0, 0, 0.9, 0.999, 1e-8, 0.0};
  const auto state = [&] { return ops::Into{make.values(shape), false, true}; };
  Workload step = workload(ATTN_OP_ADAM, {make.values(shape), make.numbers({1e-4, 0.1, 0.001, 1.0})}, params,
                           {state(), state(), state()});
  step.into[2].target.assign<double>(
      std::vector<double>(static_cast<std::size_t>(shape.elements()), 0.5));  // a square is not negative
  return {step};
}

using Make = std::vector<Workload> (*)(Maker&);

const std::map<std::string, Make>& makers() {
  static const std::map<std::string, Make> all{{"matmul", matmul},
                                               {"linear", linear},
                                               {"masked_softmax", masked_softmax},
                                               {"attention", attention},
                                               {"additive_attention", additive_attention},
                                               {"layer_norm", layer_norm},
                                               {"gru_sequence", gru_sequence},
                                               {"conv_1d", conv_1d},
                                               {"embed", embed},
                                               {"cross_entropy", cross_entropy},
                                               {"adam", adam}};
  return all;
}

}  // namespace

ops::TensorSpecs Workload::specs() const {
  ops::TensorSpecs specs;
  for (const ops::Into& target : into) {
    ops::TensorSpec spec;
    if (target.target.defined()) spec = {target.target.shape(), target.target.dtype()};
    specs.push_back(spec);
  }
  return specs;
}

double Workload::flops() const {
  return call.operation->flops != nullptr ? call.operation->flops(call, specs()) : 0.0;
}

std::vector<Workload> make_workloads(const std::shared_ptr<Device>& device, const ShapeCase& shapes,
                                     DType type) {
  Maker make(device, shapes, type);
  return makers().at(shapes.operation)(make);
}

}  // namespace attn::bench
