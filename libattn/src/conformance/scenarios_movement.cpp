#include <array>

#include "attn/conformance/scenario.h"
#include "attn/ops/ops.h"

namespace attn::conformance {
namespace {

void add_windows(std::vector<Scenario>& list) {
  const std::vector<ops::Window> windows{{1, 1, 1, 0, 0}, {3, 1, 1, 1, 1}, {3, 2, 1, 1, 0}, {2, 3, 1, 0, 0},
                                         {3, 1, 2, 2, 2}, {2, 2, 3, 1, 3}, {3, 1, 1, 2, 0}, {5, 1, 1, 4, 4}};
  for (const ops::Window& window : windows) {
    const std::string name =
        fmt::format("kernel {} stride {} dilation {} padding {} {}", window.kernel, window.stride,
                    window.dilation, window.padding, window.padding_after);
    list.push_back({"unfold_1d " + name, {{2, 7, 3}}, [window](const auto& in) {
                      return std::vector{ops::unfold_1d(in[0], window)};
                    }});
    list.push_back({"conv_1d " + name, {{2, 7, 3}, {4, window.kernel, 3}, {4}}, [window](const auto& in) {
                      return std::vector{ops::conv_1d(in[0], in[1], in[2], window)};
                    }});
  }
  list.push_back({"conv_1d without bias", {{1, 5, 2}, {3, 3, 2}}, [](const auto& in) {
                    return std::vector{ops::conv_1d(in[0], in[1], {}, {3, 1, 1, 1, 1})};
                  }});
}

void add_rows(std::vector<Scenario>& list) {
  list.push_back({"gather_rows with repeated ids", {{5, 3}}, [](const auto& in) {
                    return std::vector{ops::gather_rows(in[0], integers(in[0], {1, 4, 1, 0, 1, 4}, {2, 3}))};
                  }});
  list.push_back({"gather_rows of a table with three axes", {{4, 2, 3}}, [](const auto& in) {
                    return std::vector{ops::gather_rows(in[0], integers(in[0], {3, 3, 0}, {3}))};
                  }});
  list.push_back({"gather_rows of a vector by one id", {{4}}, [](const auto& in) {
                    return std::vector{ops::gather_rows(in[0], integers(in[0], {2}, {}))};
                  }});
  list.push_back({"scatter_add_rows",
                  {{4, 3}, {2, 3, 3}},
                  [](const auto& in) {
                    const Tensor table = ops::copy(in[0]), other = ops::copy(in[0]);
                    const Tensor ids = integers(in[0], {1, 3, 1, 0, 1, 3}, {2, 3});
                    ops::scatter_add_rows(table, in[1], ids);
                    ops::scatter_add_rows(other, in[1], ids, 1);
                    return std::vector{table, other};
                  },
                  -1.0,
                  1.0,
                  false});
}

}  // namespace

std::vector<Scenario> movement_scenarios() {
  std::vector<Scenario> list;
  list.push_back({"permute", {{2, 3, 4}}, [](const auto& in) {
                    return std::vector{ops::permute(in[0], std::array{2, 0, 1}),
                                       ops::permute(in[0], std::array{0, -1, -2}),
                                       ops::permute(in[0], std::array{0, 1, 2})};
                  }});
  list.push_back({"permute six axes", {{2, 1, 3, 2, 1, 2}}, [](const auto& in) {
                    return std::vector{ops::permute(in[0], std::array{5, 3, 0, 2, 4, 1})};
                  }});
  list.push_back(
      {"swap_axes", {{2, 3, 4}}, [](const auto& in) { return std::vector{ops::swap_axes(in[0], 0, -1)}; }});
  list.push_back({"slice, twice overlapping", {{3, 5}}, [](const auto& in) {
                    return std::vector{ops::slice(in[0], std::array<std::int64_t, 2>{1, 0}, {2, 3}),
                                       ops::slice(in[0], std::array<std::int64_t, 2>{0, 2}, {3, 2}),
                                       ops::slice_axis(in[0], -1, 4, 1), ops::slice_axis(in[0], 0, 1, 0)};
                  }});
  list.push_back({"slice_add",
                  {{3, 5}, {2, 3}},
                  [](const auto& in) {
                    const Tensor target = ops::copy(in[0]);
                    ops::slice_add(target, in[1], std::array<std::int64_t, 2>{1, 2});
                    return std::vector{target};
                  },
                  -1.0,
                  1.0,
                  false});
  for (const int axis : {0, 1, -1}) {
    Shape a{2, 3, 4};
    list.push_back({fmt::format("concatenate along {}", axis),
                    {a, a.with(axis, 1), a.with(axis, 5)},
                    [axis](const auto& in) { return std::vector{ops::concatenate(in, axis)}; }});
  }
  list.push_back({"concatenate a tensor with itself and an empty one", {{2, 3}, {2, 0}}, [](const auto& in) {
                    return std::vector{ops::concatenate(std::array{in[0], in[1], in[0]}, 1)};
                  }});
  list.push_back({"copy_into",
                  {{2, 3}},
                  [](const auto& in) {
                    const Tensor target = ops::full(in[0], {3, 2}, 5.0);
                    ops::copy_into(target, in[0]);
                    return std::vector{target};
                  },
                  -1.0,
                  1.0,
                  false});
  add_rows(list);
  add_windows(list);
  return list;
}

std::vector<Scenario> in_place_scenarios() {
  std::vector<Scenario> list;
  for (const bool decoupled : {false, true}) {
    for (const double decay : {0.0, 0.1}) {
      list.push_back({fmt::format("adam decay {} decoupled {}", decay, decoupled),
                      {{2, 3}, {2, 3}, {2, 3}, {2, 3}},
                      [=](const auto& in) {
                        const Tensor p = ops::copy(in[0]), m = ops::copy(in[1]), v = ops::square(in[2]);
                        const Tensor control = Tensor::from<double>(
                            p.shared_device(), std::vector{0.01, 0.19, 0.002, 0.5}, {4}, p.dtype());
                        ops::adam(p, m, v, in[3], control, {0.9, 0.999, 1e-8, decay, decoupled});
                        return std::vector{p, m, v};
                      },
                      -1.0,
                      1.0,
                      false});
    }
  }
  for (const double momentum : {0.0, 0.9}) {
    list.push_back({fmt::format("sgd momentum {}", momentum),
                    {{5}, {5}, {5}},
                    [momentum](const auto& in) {
                      const Tensor p = ops::copy(in[0]), velocity = ops::copy(in[1]);
                      const Tensor control = Tensor::from<double>(
                          p.shared_device(), std::vector{0.1, 1.0, 1.0, 0.5}, {4}, p.dtype());
                      ops::sgd(p, momentum > 0 ? velocity : Tensor{}, in[2], control, momentum, 0.01);
                      return std::vector{p, velocity};
                    },
                    -1.0,
                    1.0,
                    false});
  }
  for (const double max_norm : {0.5, 50.0}) {
    list.push_back({fmt::format("clip_by_norm {}", max_norm),
                    {{2, 3}, {5}},
                    [max_norm](const auto& in) {
                      const std::vector<Tensor> tensors{ops::copy(in[0]), ops::copy(in[1])};
                      ops::clip_by_norm(tensors, ops::squared_norm(tensors), max_norm, 1e-6);
                      return tensors;
                    },
                    -1.0,
                    1.0,
                    false});
  }
  list.push_back({"kv_append",
                  {{2, 5, 3}, {2, 2, 3}},
                  [](const auto& in) {
                    const Tensor cache = ops::copy(in[0]), full = ops::copy(in[0]);
                    ops::kv_append(cache, in[1], integers(in[0], {1}, {}), 1);
                    ops::kv_append(full, in[1], integers(in[0], {3}, {}), 3);
                    return std::vector{cache, full};
                  },
                  -1.0,
                  1.0,
                  false});
  list.push_back(
      {"full",
       {{2}},
       [](const auto& in) {
         return std::vector{ops::full(in[0], {2, 2}, 1.5), ops::full(integers(in[0], {1}, {1}), {3}, -2)};
       },
       -1.0,
       1.0,
       false});
  return list;
}

}  // namespace attn::conformance
