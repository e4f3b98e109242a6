#include "example.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "attn/inspection/complexity_cost.h"
#include "attn/inspection/complexity_path.h"
#include "attn/ops/ops.h"
#include "tables.h"

namespace attn::compare {
namespace {

constexpr std::int64_t words = 100, kernel = 3;

struct Row {
  EncoderOptions options;
  const char* formula;
  const char* meaning;
  std::int64_t interactions = 0;
  std::int64_t sequential = 0;
  std::optional<std::int64_t> path = {};
};

// Numbers that one layer of width 1 multiplies with one another: the weights of pairs of words. Those are the
// elements of the scores, of the windows laid side by side, and of the states that are handed on.
std::int64_t interactions_of(const std::shared_ptr<Device>& device, const EncoderOptions& options) {
  ParameterStore store(device, DType::f32);
  const auto encoder = make_sequence_encoder(Scope(store), options);
  store.materialise(1);
  const Tensor x = ops::full(Tensor::zeros(device, {}, DType::f32), {1, words, options.width}, 0.5);
  const ComplexityCost cost = count_cost(*encoder, store, x, Pass::forward);
  switch (options.kind) {
    case EncoderKind::self_attention:
      // Score, weighted value (two flops each) and five for the softmax of every pair.
      return static_cast<std::int64_t>(cost.flops_of("attention") / 9);
    case EncoderKind::convolution:
      // Two for every pair, and one for each word's bias.
      return static_cast<std::int64_t>((cost.flops_of("conv_1d") - static_cast<double>(words)) / 2);
    default:
      // The recurrent product of every step with the state before it; the sum with the input's share is one.
      return static_cast<std::int64_t>(cost.flops_of("binary"));
  }
}

}  // namespace

std::string textbook_example(const std::string& backend, bool json) {
  const auto device = Device::open(backend);
  std::vector<Row> rows{
      {{.kind = EncoderKind::self_attention, .width = 1}, "n^2", "every word with every word"},
      {{.kind = EncoderKind::convolution, .width = 1, .kernel = kernel, .causal = false},
       "k n",
       "every word with its neighbours and itself"},
      {{.kind = EncoderKind::rnn, .width = 1}, "n", "every word with the state before it"}};
  for (Row& row : rows) {
    row.interactions = interactions_of(device, row.options);
    row.sequential = count_sequential_operations(device, row.options, words, Pass::forward);
    row.path = measured_path_length(device, row.options, words);
  }
  if (json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Row& row : rows) {
      list.push_back({{"layer_type", name_of(row.options.kind)},
                      {"interactions", row.interactions},
                      {"sequential_operations", row.sequential},
                      {"path_length", row.path.value_or(0)}});
    }
    return nlohmann::ordered_json{{"words", words}, {"kernel", kernel}, {"layers", list}}.dump() + "\n";
  }
  Table table;
  table.title = fmt::format(
      "A sentence of n = {} words, a kernel of k = {}: counted from one layer's operations", words, kernel);
  table.header = {"layer type", "interactions", "formula", "sequential", "longest path", "what interacts"};
  for (const Row& row : rows) {
    table.rows.push_back({std::string(name_of(row.options.kind)), std::to_string(row.interactions),
                          row.formula, std::to_string(row.sequential), std::to_string(row.path.value_or(0)),
                          row.meaning});
  }
  return as_text({table});
}

}  // namespace attn::compare
