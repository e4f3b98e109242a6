#include "attn/conformance/scenario.h"
#include "attn/ops/ops.h"

namespace attn::conformance {
namespace {

void add_linear(std::vector<Scenario>& list) {
  for (const auto activation :
       {ATTN_ACTIVATION_NONE, ATTN_ACTIVATION_RELU, ATTN_ACTIVATION_TANH, ATTN_ACTIVATION_SIGMOID}) {
    for (const Shape& x : {Shape{3, 5}, Shape{2, 3, 5}, Shape{5}, Shape{1, 1, 2, 5}}) {
      list.push_back(
          {fmt::format("linear {} activation {}", x, static_cast<int>(activation)),
           {x, {4, 5}, {4}},
           [=](const auto& in) { return std::vector{ops::linear(in[0], in[1], in[2], activation)}; }});
      list.push_back(
          {fmt::format("linear {} activation {} without bias", x, static_cast<int>(activation)),
           {x, {4, 5}},
           [=](const auto& in) { return std::vector{ops::linear(in[0], in[1], {}, activation)}; }});
    }
  }
  list.push_back({"linear of a matrix with itself", {{3, 3}, {3}}, [](const auto& in) {
                    return std::vector{ops::linear(in[0], in[0], in[1], ATTN_ACTIVATION_TANH)};
                  }});
  list.push_back({"linear layers that share a weight", {{2, 3}, {3, 3}, {3}}, [](const auto& in) {
                    const Tensor first = ops::linear(in[0], in[1], in[2], ATTN_ACTIVATION_TANH);
                    return std::vector{ops::linear(first, in[1], in[2])};
                  }});
}

void add_layer_norm(std::vector<Scenario>& list) {
  for (const auto& [x, gain] : std::initializer_list<std::pair<Shape, Shape>>{
           {{2, 3, 6}, {6}}, {{2, 3, 4}, {3, 4}}, {{5}, {5}}, {{1, 7}, {7}}, {{3, 1, 2}, {1, 2}}}) {
    list.push_back({fmt::format("layer_norm {} {}", x, gain), {x, gain, gain}, [](const auto& in) {
                      const auto result = ops::layer_norm(in[0], in[1], in[2], 1e-5);
                      return std::vector{result.output, ops::square(result.sum)};
                    }});
    for (const double rate : {0.0, 0.4}) {
      const auto dropout = [rate](const Tensor& like) {
        return rate > 0 ? ops::Dropout{rate, random_counter(like), 2} : ops::Dropout{};
      };
      list.push_back(
          {fmt::format("layer_norm {} {} with residual, dropout {}, both outputs used", x, gain, rate),
           {x, gain, gain, x},
           [=](const auto& in) {
             const auto result = ops::layer_norm(in[0], in[1], in[2], 1e-5, in[3], dropout(in[0]));
             return std::vector{result.output, ops::square(result.sum)};
           }});
      list.push_back({fmt::format("layer_norm {} {} with residual, dropout {}, output used", x, gain, rate),
                      {x, gain, gain, x},
                      [=](const auto& in) {
                        return std::vector{
                            ops::layer_norm(in[0], in[1], in[2], 1e-5, in[3], dropout(in[0])).output};
                      }});
    }
    list.push_back(
        {fmt::format("layer_norm {} {} with dropout", x, gain), {x, gain, gain}, [](const auto& in) {
           const auto result =
               ops::layer_norm(in[0], in[1], in[2], 1e-5, {}, {0.3, random_counter(in[0]), 8});
           return std::vector{result.output, result.sum};
         }});
  }
  list.push_back({"layer_norm, only the sum used", {{2, 4}, {4}, {4}, {2, 4}}, [](const auto& in) {
                    return std::vector{ops::layer_norm(in[0], in[1], in[2], 1e-5, in[3]).sum,
                                       ops::square(in[1]), ops::square(in[2])};
                  }});
  list.push_back({"layer_norm of a tensor that is its own residual", {{2, 4}, {4}, {4}}, [](const auto& in) {
                    const auto result =
                        ops::layer_norm(in[0], in[1], in[2], 1e-5, in[0], {0.4, random_counter(in[0]), 2});
                    return std::vector{result.output, result.sum};
                  }});
  list.push_back({"layer_norm with gain as bias", {{2, 4}, {4}}, [](const auto& in) {
                    return std::vector{ops::layer_norm(in[0], in[1], in[1], 1e-5).output};
                  }});
  list.push_back(
      {"residual connections in a row", {{2, 4}, {4}, {4}, {4, 4}}, [](const auto& in) {
         const auto first = ops::layer_norm(ops::linear(in[0], in[3]), in[1], in[2], 1e-5, in[0]);
         const auto second = ops::layer_norm(ops::linear(first.output, in[3]), in[1], in[2], 1e-5, first.sum);
         return std::vector{second.output, ops::add(second.sum, in[0]), ops::add(first.sum, first.sum)};
       }});
}

void add_recurrent(std::vector<Scenario>& list) {
  for (const auto& [steps, batch, hidden] :
       std::initializer_list<std::tuple<std::int64_t, std::int64_t, std::int64_t>>{
           {4, 2, 3}, {1, 3, 2}, {3, 1, 5}, {2, 1, 1}}) {
    const Shape input{steps, batch, 3 * hidden}, state{batch, hidden}, weight{3 * hidden, hidden};
    list.push_back(
        {fmt::format("gru_sequence {}", input), {input, state, weight, {3 * hidden}}, [](const auto& in) {
           return std::vector{ops::gru_sequence(in[0], in[1], in[2], in[3])};
         }});
    list.push_back({fmt::format("gru_sequence {} without bias", input),
                    {input, state, weight},
                    [](const auto& in) { return std::vector{ops::gru_sequence(in[0], in[1], in[2], {})}; }});
  }
}

void add_embedding(std::vector<Scenario>& list) {
  const std::vector<std::int32_t> ids{1, 3, 1, 5, 1, 3};
  list.push_back({"embed", {{6, 4}}, [=](const auto& in) {
                    return std::vector{ops::embed(in[0], integers(in[0], ids, {2, 3}), {})};
                  }});
  list.push_back(
      {"embed scaled, with positions", {{6, 4}, {3, 4}}, [=](const auto& in) {
         return std::vector{ops::embed(in[0], integers(in[0], ids, {2, 3}), in[1], {1.5, 0, -1, {}})};
       }});
  list.push_back({"embed scaled, with positions from 2 and dropout", {{6, 4}, {6, 4}}, [=](const auto& in) {
                    return std::vector{ops::embed(in[0], integers(in[0], ids, {2, 3}), in[1],
                                                  {2.0, 2, -1, {0.3, random_counter(in[0]), 6}})};
                  }});
  list.push_back({"embed with dropout, one axis of ids", {{6, 3}}, [=](const auto& in) {
                    return std::vector{ops::embed(in[0], integers(in[0], ids, {6}), {},
                                                  {1.0, 0, -1, {0.3, random_counter(in[0]), 6}})};
                  }});
  list.push_back({"embed with three axes of ids", {{6, 3}, {4, 3}}, [=](const auto& in) {
                    return std::vector{ops::embed(in[0], integers(in[0], ids, {1, 2, 3}), in[1])};
                  }});
}

}  // namespace

std::vector<Scenario> layer_scenarios() {
  std::vector<Scenario> list;
  add_linear(list);
  add_layer_norm(list);
  add_recurrent(list);
  add_embedding(list);
  for (const Shape& x : {Shape{6, 4}, Shape{2, 1}, Shape{5, 7}}) {
    list.push_back({fmt::format("batch_norm {}", x), {x, {x[1]}, {x[1]}}, [](const auto& in) {
                      const auto result = ops::batch_norm(in[0], in[1], in[2], 1e-3);
                      return std::vector{result.output, result.mean, result.variance};
                    }});
  }
  return list;
}

std::vector<Scenario> loss_scenarios() {
  std::vector<Scenario> list;
  for (const auto& [name, options] : std::initializer_list<std::pair<const char*, ops::CrossEntropyOptions>>{
           {"plain", {}},
           {"uniform smoothing", {0.1, ATTN_SMOOTH_UNIFORM, -1}},
           {"smoothing over the others", {0.1, ATTN_SMOOTH_OTHERS, 1}},
           {"smoothing over the others, no class excluded", {0.2, ATTN_SMOOTH_OTHERS, -1}},
           {"no smoothing over the others", {0.0, ATTN_SMOOTH_OTHERS, 1}}}) {
    list.push_back(
        {std::string("cross_entropy, ") + name,
         {{5, 7}},
         [options = options](const auto& in) {
           return std::vector{ops::cross_entropy(in[0], integers(in[0], {0, -1, 6, 3, -100}, {5}), options)};
         },
         -2.0,
         2.0});
  }
  list.push_back({"cross_entropy of two classes", {{3, 2}}, [](const auto& in) {
                    return std::vector{ops::cross_entropy(in[0], integers(in[0], {0, 1, 1}, {3}),
                                                          {0.1, ATTN_SMOOTH_UNIFORM, -1})};
                  }});
  return list;
}

}  // namespace attn::conformance
