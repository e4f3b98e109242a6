#include "attn/inspection/complexity_cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "attn/ops/ops.h"
#include "complexity_backward.h"

namespace attn {
namespace {

ops::TensorSpecs specs_of(const ops::Tensors& outputs) {
  ops::TensorSpecs specs;
  for (const Tensor& output : outputs) {
    if (output.defined())
      specs.push_back({output.shape(), output.dtype()});
    else
      specs.push_back({});
  }
  return specs;
}

void count(ComplexityCost& cost, const ops::Call& call, const ops::Tensors& outputs) {
  const std::string_view name = call.operation->name;
  auto found = std::find_if(cost.operations.begin(), cost.operations.end(),
                            [&](const OperationCost& operation) { return operation.name == name; });
  if (found == cost.operations.end()) {
    cost.operations.push_back({std::string(name)});
    found = std::prev(cost.operations.end());
  }
  const ops::TensorSpecs specs = specs_of(outputs);
  const double flops = call.operation->flops != nullptr ? call.operation->flops(call, specs) : 0.0;
  const double bytes = ops::bytes_moved(call, specs);
  found->uses += 1;
  found->flops += flops;
  found->bytes += bytes;
  cost.flops += flops;
  cost.bytes += bytes;
}

// The longest chain within one use of an operation: 1 for a primitive, else that of its decomposition.
class ChainCounter {
 public:
  std::int64_t operator()(const ops::Call& call, const ops::Tensors& outputs) {
    if (call.operation->decomposition == nullptr) return 1;
    std::string key = fmt::format("{} {}", call.operation->kind, call.wanted);
    for (const Tensor& input : call.inputs)
      key += input.defined() ? fmt::format(" {}", input.shape()) : std::string(" -");
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    const std::int64_t chain = of_decomposition(call, outputs);
    known_.emplace(std::move(key), chain);
    return chain;
  }

 private:
  std::int64_t of_decomposition(const ops::Call& call, const ops::Tensors& outputs) {
    inspection::DependenceRecorder recorder(
        [this](const ops::Call& inner, const ops::Tensors& results) { return (*this)(inner, results); });
    ops::Call watched = call;
    for (Tensor& input : watched.inputs) {
      if (input.defined() && input.dtype() != DType::i32) input = recorder.watch(input, 0);
    }
    if (watched.operation->accumulates) watched.params.set_accumulate(0);
    // A decomposition may read the shape of its targets.
    std::vector<ops::Into> into;
    for (const Tensor& output : outputs) into.push_back({output.detached(), false, output.defined()});
    (void)watched.operation->decomposition(watched, into);
    return recorder.longest();
  }

  std::map<std::string, std::int64_t> known_;
};

struct NarrowEncoder {
  NarrowEncoder(const std::shared_ptr<Device>& device, EncoderOptions options, std::int64_t steps)
      : store(device, DType::f32) {
    options.width = uses_heads(options.kind) ? options.heads : 1;
    encoder = make_sequence_encoder(Scope(store), options);
    store.materialise(1);
    x = ops::full(Tensor::zeros(device, {}, DType::f32), {1, steps, options.width}, 0.5);
  }

  ParameterStore store;
  std::unique_ptr<SequenceEncoder> encoder;
  Tensor x;
};

// A tape that watches the input and all parameters, for as long as it lives.
class WatchedPass {
 public:
  WatchedPass(const SequenceEncoder& encoder, ParameterStore& store, const Tensor& x) : store_(store) {
    const Tensor watched = tape_.watch(x);
    if (store.count() > 0) store.train_with(tape_);
    output_ = encoder(watched);
  }
  WatchedPass(const WatchedPass&) = delete;
  WatchedPass& operator=(const WatchedPass&) = delete;
  WatchedPass(WatchedPass&&) = delete;
  WatchedPass& operator=(WatchedPass&&) = delete;
  ~WatchedPass() {
    if (store_.count() > 0) store_.stop_training();
  }

  const Tape& tape() const { return tape_; }
  const Tensor& output() const { return output_; }

 private:
  ParameterStore& store_;
  Tape tape_;
  Tensor output_;
};

}  // namespace

std::string_view name_of(Pass pass) noexcept {
  return pass == Pass::forward ? "forward" : "forward_backward";
}

double ComplexityCost::flops_of(std::string_view operation) const noexcept {
  for (const OperationCost& cost : operations) {
    if (cost.name == operation) return cost.flops;
  }
  return 0.0;
}

ComplexityCost count_cost(const SequenceEncoder& encoder, ParameterStore& store, const Tensor& x, Pass pass) {
  ComplexityCost cost;
  cost.parameters = store.count();
  const WatchedPass watched(encoder, store, x);
  cost.activation_bytes = static_cast<double>(x.bytes());
  for (const Tape::Node& node : watched.tape().nodes()) {
    count(cost, node.call, node.outputs);
    for (const Tensor& output : node.outputs) {
      if (output.defined()) cost.activation_bytes += static_cast<double>(output.bytes());
    }
  }
  if (pass == Pass::forward_backward) {
    inspection::DependenceRecorder recorder([&cost](const ops::Call& call, const ops::Tensors& outputs) {
      count(cost, call, outputs);
      return std::int64_t{1};
    });
    inspection::run_backward(watched.tape().nodes(), watched.output(), recorder, 0);
  }
  return cost;
}

std::int64_t count_sequential_operations(const std::shared_ptr<Device>& device, EncoderOptions options,
                                         std::int64_t steps, Pass pass) {
  if (!is_recurrent(options.kind))
    steps = std::min(steps, std::max<std::int64_t>({256, 2 * options.window, 2 * options.kernel}));
  NarrowEncoder narrow(device, options, steps);
  const WatchedPass watched(*narrow.encoder, narrow.store, narrow.x);
  ChainCounter chain;
  std::map<std::int32_t, std::int64_t> depths;  // of variables; leaves have none
  std::int64_t longest = 0, of_output = 0;
  for (const Tape::Node& node : watched.tape().nodes()) {
    std::int64_t depth = 0;
    for (const Tensor& input : node.call.inputs) {
      const auto found = input.defined() ? depths.find(input.variable()) : depths.end();
      if (found != depths.end()) depth = std::max(depth, found->second);
    }
    depth += chain(node.call, node.outputs);
    for (const Tensor& output : node.outputs) {
      if (output.defined()) depths[output.variable()] = depth;
    }
    longest = std::max(longest, depth);
  }
  if (pass == Pass::forward) return longest;
  const auto found = depths.find(watched.output().variable());
  if (found != depths.end()) of_output = found->second;
  inspection::DependenceRecorder recorder(
      [&chain](const ops::Call& call, const ops::Tensors& outputs) { return chain(call, outputs); });
  inspection::run_backward(watched.tape().nodes(), watched.output(), recorder, of_output);
  return std::max(longest, recorder.longest());
}

std::vector<std::string> decomposed_operations(const std::shared_ptr<Device>& device, EncoderOptions options,
                                               Pass pass) {
  options.layers = 1;
  NarrowEncoder narrow(device, options, 16);
  std::set<std::string> ran;
  device->set_observer([&ran](const attn_op&, const char* name) { ran.insert(name); });
  std::vector<std::string> decomposed;
  try {
    const ComplexityCost cost = count_cost(*narrow.encoder, narrow.store, narrow.x, pass);
    for (const OperationCost& operation : cost.operations) {
      if (!ran.contains(operation.name)) decomposed.push_back(operation.name);
    }
  } catch (...) {
    device->set_observer({});
    throw;
  }
  device->set_observer({});
  std::sort(decomposed.begin(), decomposed.end());
  return decomposed;
}

}  // namespace attn
