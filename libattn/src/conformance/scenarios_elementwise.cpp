#include <array>

#include "attn/conformance/scenario.h"
#include "attn/ops/ops.h"

namespace attn::conformance {
namespace {

using Unary = Tensor (*)(const Tensor&);
using Binary = Tensor (*)(const Tensor&, const Tensor&);

Scenario unary(const std::string& name, Unary function, double low = -2.0, double high = 2.0) {
  return {name, {{3, 5}}, [function](const auto& in) { return std::vector{function(in[0])}; }, low, high};
}

void add_binary(std::vector<Scenario>& list, const std::string& name, Binary function, double low = -2.0,
                bool differentiable = true) {
  const std::vector<std::vector<Shape>> shapes{{{3, 5}, {3, 5}},    {{3, 5}, {5}}, {{5}, {2, 3, 5}},
                                               {{3, 1}, {1, 5}},    {{}, {2, 3}},  {{2, 1, 3}, {4, 1}},
                                               {{1, 1, 7}, {1, 7}}, {{}, {}}};
  for (const auto& pair : shapes) {
    list.push_back({name + " " + pair[0].to_string() + " " + pair[1].to_string(), pair,
                    [function](const auto& in) { return std::vector{function(in[0], in[1])}; }, low, 2.0,
                    differentiable});
  }
  list.push_back({name + " of a tensor with itself",
                  {{2, 3}},
                  [function](const auto& in) { return std::vector{function(in[0], in[0])}; },
                  low,
                  2.0,
                  differentiable && name != "maximum" && name != "minimum"});
}

void add_unary(std::vector<Scenario>& list) {
  for (const auto& [name, function] :
       std::initializer_list<std::pair<const char*, Unary>>{{"negate", ops::negate},
                                                            {"exp", ops::exp},
                                                            {"square", ops::square},
                                                            {"tanh", ops::tanh},
                                                            {"sigmoid", ops::sigmoid},
                                                            {"relu", ops::relu},
                                                            {"gelu", ops::gelu},
                                                            {"sin", ops::sin},
                                                            {"cos", ops::cos},
                                                            {"erf", ops::erf},
                                                            {"abs", ops::abs}}) {
    list.push_back(unary(name, function));
  }
  for (const auto& [name, function] : std::initializer_list<std::pair<const char*, Unary>>{
           {"log", ops::log}, {"sqrt", ops::sqrt}, {"rsqrt", ops::rsqrt}, {"reciprocal", ops::reciprocal}}) {
    list.push_back(unary(name, function, 0.5, 3.0));
  }
}

void add_select(std::vector<Scenario>& list) {
  const auto choose = [](const std::vector<Tensor>& in, const Shape& shape) {
    std::vector<double> condition(static_cast<std::size_t>(shape.elements()));
    for (std::size_t i = 0; i < condition.size(); ++i) condition[i] = i % 3 == 1 ? 0.0 : 1.0;
    const Tensor mask = Tensor::from<double>(in[0].shared_device(), condition, shape, in[0].dtype());
    return std::vector{ops::select(mask, in[0], in[1])};
  };
  list.push_back({"select", {{2, 3}, {2, 3}}, [choose](const auto& in) { return choose(in, {2, 3}); }});
  list.push_back(
      {"select with a broadcast condition and a scalar", {{2, 4, 3}, {}}, [choose](const auto& in) {
         return choose(in, {4, 1});
       }});
}

}  // namespace

std::vector<Scenario> elementwise_scenarios() {
  std::vector<Scenario> list;
  add_unary(list);
  add_binary(list, "add", ops::add);
  add_binary(list, "subtract", ops::subtract);
  add_binary(list, "multiply", ops::multiply);
  add_binary(list, "divide", ops::divide, 0.5);
  add_binary(list, "maximum", ops::maximum);
  add_binary(list, "minimum", ops::minimum);
  add_binary(list, "greater", ops::greater, -2.0, false);
  add_binary(list, "equal", ops::equal, -2.0, false);
  add_select(list);
  list.push_back(
      {"affine", {{7}}, [](const auto& in) { return std::vector{ops::affine(in[0], -2.5, 0.75)}; }});
  list.push_back({"copy", {{2, 3}}, [](const auto& in) { return std::vector{ops::copy(in[0])}; }});
  list.push_back({"a reshaped tensor, used in both shapes", {{2, 3}}, [](const auto& in) {
                    const Tensor flat = in[0].reshaped({6});
                    return std::vector{ops::square(flat), ops::tanh(in[0]), ops::multiply(flat, flat)};
                  }});
  list.push_back({"cast to f64 and back", {{2, 3}}, [](const auto& in) {
                    return std::vector{ops::cast(ops::square(ops::cast(in[0], DType::f64)), in[0].dtype())};
                  }});
  list.push_back({"cast through the other floating-point type",
                  {{2, 3}},
                  [](const auto& in) {
                    const DType other = in[0].dtype() == DType::f64 ? DType::f32 : DType::f64;
                    return std::vector{ops::cast(ops::cast(in[0].detached(), other), in[0].dtype())};
                  },
                  -1.0,
                  1.0,
                  false});
  list.push_back({"cast to integers",
                  {{3, 4}},
                  [](const auto& in) { return std::vector{ops::cast(in[0], DType::i32)}; },
                  -4.0,
                  4.0,
                  false});
  list.push_back(
      {"integer arithmetic",
       {{3}},
       [](const auto& in) {
         const Tensor a = integers(in[0], {5, -7, 2}, {3}), b = integers(in[0], {3}, {});
         return std::vector{ops::add(a, b), ops::maximum(a, b), ops::greater(a, b), ops::affine(a, 2.0, 1.0)};
       },
       -1.0,
       1.0,
       false});
  list.push_back({"dropout", {{4, 7}}, [](const auto& in) {
                    return std::vector{ops::dropout(in[0], {0.3, random_counter(in[0]), 9})};
                  }});
  list.push_back({"dropout of rate 0", {{4}}, [](const auto& in) {
                    return std::vector{ops::square(ops::dropout(in[0], {}))};
                  }});
  return list;
}

std::vector<Scenario> product_scenarios() {
  std::vector<Scenario> list;
  struct Case {
    Shape a, b;
    ops::MatmulOptions options;
  };
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      const auto put = [&](const Shape& batch_a, const Shape& batch_b, std::int64_t m, std::int64_t n,
                           std::int64_t k, double alpha) {
        const Shape a = ta ? batch_a.appended(k).appended(m) : batch_a.appended(m).appended(k);
        const Shape b = tb ? batch_b.appended(n).appended(k) : batch_b.appended(k).appended(n);
        const ops::MatmulOptions options{ta, tb, alpha};
        list.push_back(
            {fmt::format("matmul {}{} {}{} alpha {}", a, ta ? "^T" : "", b, tb ? "^T" : "", alpha),
             {a, b},
             [options](const auto& in) { return std::vector{ops::matmul(in[0], in[1], options)}; }});
      };
      put({}, {}, 3, 4, 5, 1.0);
      put({}, {}, 1, 7, 3, -0.5);
      put({3}, {3}, 2, 5, 4, 0.25);
      put({2, 3}, {2, 3}, 3, 2, 1, 1.0);
      put({}, {3}, 2, 3, 4, 2.0);
      put({3}, {}, 2, 3, 4, 1.0);
      put({2, 2}, {}, 3, 2, 5, 0.5);
      put({}, {2, 2}, 3, 2, 5, 1.0);
      list.push_back(
          {fmt::format("matmul of a matrix with itself {} {}", ta, tb), {{3, 3}}, [ta, tb](const auto& in) {
             return std::vector{ops::matmul(in[0], in[0], {ta, tb, 0.5})};
           }});
    }
  }
  const auto reduction = [&list](const std::string& name, const Shape& shape, std::vector<int> axes,
                                 bool keep) {
    list.push_back({fmt::format("sum {} {} {}", name, shape, keep), {shape}, [axes, keep](const auto& in) {
                      return std::vector{ops::sum(in[0], axes, keep)};
                    }});
    list.push_back({fmt::format("mean {} {} {}", name, shape, keep), {shape}, [axes, keep](const auto& in) {
                      return std::vector{ops::mean(in[0], axes, keep)};
                    }});
    list.push_back({fmt::format("max {} {} {}", name, shape, keep),
                    {shape},
                    [axes, keep](const auto& in) { return std::vector{ops::max(in[0], axes, keep)}; },
                    -1.0,
                    1.0,
                    false});
  };
  for (const bool keep : {false, true}) {
    reduction("last", {3, 5}, {-1}, keep);
    reduction("first", {3, 5}, {0}, keep);
    reduction("outer", {2, 3, 4}, {0, 2}, keep);
    reduction("middle", {2, 3, 1, 2}, {1, 2}, keep);
    reduction("all", {2, 3}, {0, 1}, keep);
    reduction("none", {2, 3}, {}, keep);
  }
  list.push_back({"sum of all", {{2, 3, 2}}, [](const auto& in) { return std::vector{ops::sum(in[0])}; }});
  list.push_back({"sum_to", {{2, 3, 4}}, [](const auto& in) {
                    return std::vector{ops::sum_to(in[0], {3, 1}), ops::sum_to(in[0], {}),
                                       ops::sum_to(in[0], {1, 4}), ops::sum_to(in[0], {2, 3, 4})};
                  }});
  list.push_back({"log_sum_exp",
                  {{3, 5}},
                  [](const auto& in) { return std::vector{ops::log_sum_exp(in[0])}; },
                  -3.0,
                  3.0});
  list.push_back({"argmax and top_k",
                  {{2, 3, 6}},
                  [](const auto& in) {
                    auto [values, indices] = ops::top_k(in[0], 4);
                    return std::vector{ops::argmax(in[0]), values, indices};
                  },
                  -1.0,
                  1.0,
                  false});
  list.push_back({"squared_norm",
                  {{2, 3}, {}, {5}},
                  [](const auto& in) { return std::vector{ops::squared_norm(in)}; },
                  -1.0,
                  1.0,
                  false});
  return list;
}

}  // namespace attn::conformance
