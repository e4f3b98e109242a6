#include "attn/conformance/scenario.h"
#include "attn/ops/ops.h"

namespace attn::conformance {
namespace {

constexpr std::int64_t batch = 2, queries = 3, keys = 5;

struct NamedMask {
  std::string name;
  std::function<ops::Mask(const Tensor&)> mask;
};

// Masks for [2, 3, 5], in both ways of masking. "some hidden" has a row without any visible key.
std::vector<NamedMask> masks() {
  std::vector<NamedMask> list;
  for (const auto masking : {ATTN_MASK_EXACT, ATTN_MASK_BOOK}) {
    const std::string how = masking == ATTN_MASK_EXACT ? "exact" : "book";
    list.push_back({how + ", no mask", [=](const Tensor&) { return ops::Mask{{}, false, 0, masking}; }});
    list.push_back({how + ", a length each", [=](const Tensor& like) {
                      return ops::Mask{integers(like, {3, 5}, {batch}), false, 0, masking};
                    }});
    list.push_back({how + ", lengths out of range", [=](const Tensor& like) {
                      return ops::Mask{integers(like, {-2, 9}, {batch}), false, 0, masking};
                    }});
    list.push_back(
        {how + ", a length a query, some 0", [=](const Tensor& like) {
           return ops::Mask{integers(like, {1, 0, 4, 5, 2, 0}, {batch, queries}), false, 0, masking};
         }});
    list.push_back({how + ", causal", [=](const Tensor&) { return ops::Mask{{}, true, 0, masking}; }});
    list.push_back({how + ", causal with offset and lengths", [=](const Tensor& like) {
                      return ops::Mask{integers(like, {4, 2}, {batch}), true, 2, masking};
                    }});
    list.push_back({how + ", causal before the first key", [=](const Tensor&) {
                      return ops::Mask{{}, true, -1, masking};
                    }});
  }
  return list;
}

void add_softmax(std::vector<Scenario>& list) {
  for (const NamedMask& mask : masks()) {
    list.push_back(
        {"masked_softmax " + mask.name,
         {{batch, queries, keys}},
         [mask](const auto& in) { return std::vector{ops::masked_softmax(in[0], mask.mask(in[0]))}; },
         -3.0,
         3.0});
  }
  list.push_back({"masked_softmax with heads", {{batch, 4, queries, keys}}, [](const auto& in) {
                    return std::vector{
                        ops::masked_softmax(in[0], {integers(in[0], {2, 4}, {batch})}),
                        ops::masked_softmax(in[0], {integers(in[0], {1, 2, 3, 4, 5, 0}, {batch, queries})})};
                  }});
  list.push_back({"softmax of a matrix", {{3, 4}}, [](const auto& in) {
                    return std::vector{ops::masked_softmax(in[0])};
                  }});
}

Scenario attention(const std::string& name, std::int64_t heads, std::int64_t size, std::int64_t value_size,
                   const std::function<ops::Mask(const Tensor&)>& mask, double rate) {
  return {
      fmt::format("attention, {} heads of {} and {}, dropout {}, {}", heads, size, value_size, rate, name),
      {{batch, queries, heads * size}, {batch, keys, heads * size}, {batch, keys, heads * value_size}},
      [=](const auto& in) {
        ops::AttentionOptions options{heads, 0.7, mask(in[0]), {}, true};
        if (rate > 0) options.dropout = {rate, random_counter(in[0]), 3};
        const auto result = ops::attention(in[0], in[1], in[2], options);
        options.return_weights = false;
        return std::vector{result.output, result.weights,
                           ops::attention(in[0], in[1], in[2], options).output};
      }};
}

Scenario additive(const std::string& name, const std::function<ops::Mask(const Tensor&)>& mask, double rate) {
  return {fmt::format("additive_attention, dropout {}, {}", rate, name),
          {{batch, queries, 4}, {batch, keys, 4}, {4}, {batch, keys, 3}},
          [=](const auto& in) {
            ops::Dropout dropout;
            if (rate > 0) dropout = {rate, random_counter(in[0]), 3};
            const auto result = ops::additive_attention(in[0], in[1], in[2], in[3], mask(in[0]), dropout);
            return std::vector{result.output, result.weights};
          }};
}

// Two entries whose keys are rows of one cache of six.
Scenario cached(const NamedMask& mask) {
  return {"cached_attention, " + mask.name,
          {{batch, queries, 6}, {6, 6}, {6, 4}},
          [=](const auto& in) {
            const Tensor rows = integers(in[0], {5, 0, 3, 3, 1, 2, 0, 4, 5, 1}, {batch, keys});
            ops::AttentionOptions options{2, 0.7, mask.mask(in[0]), {}, true};
            const auto result = ops::cached_attention(in[0], in[1], in[2], rows, options);
            options.return_weights = false;
            return std::vector{result.output, result.weights,
                               ops::cached_attention(in[0], in[1], in[2], rows, options).output};
          },
          -1.0,
          1.0,
          false};
}

void add_shared(std::vector<Scenario>& list) {
  list.push_back(
      {"attention of a tensor to itself", {{2, 4, 6}}, [](const auto& in) {
         return std::vector{
             ops::attention(in[0], in[0], in[0], {2, 0.5, {{}, true, 0, ATTN_MASK_EXACT}, {}, false}).output};
       }});
  list.push_back({"attention with keys as values", {{2, 3, 4}, {2, 5, 4}}, [](const auto& in) {
                    return std::vector{ops::attention(in[0], in[1], in[1], {1, 0.5, {}, {}, false}).output};
                  }});
  list.push_back({"additive attention with keys as values and queries", {{2, 4, 3}, {3}}, [](const auto& in) {
                    return std::vector{ops::additive_attention(in[0], in[0], in[1], in[0], {}, {}).output};
                  }});
  list.push_back(
      {"attention of one query over one key", {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}}, [](const auto& in) {
         return std::vector{ops::attention(in[0], in[1], in[2], {1, 1.0, {}, {}, false}).output};
       }});
}

}  // namespace

std::vector<Scenario> attention_scenarios() {
  std::vector<Scenario> list;
  add_softmax(list);
  for (const NamedMask& mask : masks()) {
    list.push_back(attention(mask.name, 2, 3, 2, mask.mask, 0.0));
    list.push_back(attention(mask.name, 2, 3, 2, mask.mask, 0.4));
    list.push_back(additive(mask.name, mask.mask, 0.0));
    list.push_back(additive(mask.name, mask.mask, 0.4));
    list.push_back(cached(mask));
  }
  list.push_back(attention("one head", 1, 4, 4, masks()[1].mask, 0.0));
  list.push_back(attention("five heads of one", 5, 1, 1, masks()[3].mask, 0.2));
  add_shared(list);
  return list;
}

}  // namespace attn::conformance
