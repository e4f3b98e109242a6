#include "attn/ops/operation.h"
#include "attn/ops/ops.h"

namespace attn::ops {
namespace {

const Tensor& any_defined(const Call& call, std::span<const Into> into) {
  for (const Tensor& tensor : call.inputs) {
    if (tensor.defined()) return tensor;
  }
  for (const Into& target : into) {
    if (target.target.defined()) return target.target;
  }
  fail(ExitCode::internal, "{}: all inputs are absent", call.operation->name);
}

void check_one_device(const Call& call, const Device& device) {
  for (const Tensor& tensor : call.inputs) {
    if (tensor.defined() && &tensor.device() != &device) {
      fail(ExitCode::internal, "{}: operands are on different devices", call.operation->name);
    }
  }
}

Recorder* recorder_of(const Call& call) {
  for (const Tensor& tensor : call.inputs) {
    if (tensor.recorder() != nullptr) return tensor.recorder();
  }
  return nullptr;
}

struct Descriptor {
  attn_tensor tensors[ATTN_MAX_TENSORS];
  attn_op op;
};

void describe(const Call& call, const TensorSpecs& specs, Descriptor& descriptor) {
  std::size_t count = 0;
  for (const Tensor& input : call.inputs) descriptor.tensors[count++] = input.descriptor();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    attn_tensor& output = descriptor.tensors[count++];
    output = Tensor::absent_descriptor();
    if (!call.wants(i)) continue;
    output.dtype = static_cast<std::int32_t>(specs[i].type);
    output.rank = specs[i].shape.rank();
    for (int axis = 0; axis < output.rank; ++axis) output.dims[axis] = specs[i].shape[axis];
  }
  descriptor.op = {call.operation->kind, static_cast<std::uint16_t>(call.inputs.size()),
                   static_cast<std::uint16_t>(specs.size()), descriptor.tensors, call.params.data()};
}

TensorSpecs specs_of(std::span<const Into> targets) {
  TensorSpecs specs;
  for (const Into& into : targets) specs.push_back({into.target.shape(), into.target.dtype()});
  return specs;
}

Tensors run_natively(const Call& call, const TensorSpecs& specs, std::span<const Into> into, Device& device,
                     Descriptor& descriptor) {
  Tensors outputs;
  const std::shared_ptr<Device> shared = device.shared_from_this();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (!call.wants(i)) {
      outputs.push_back({});
      continue;
    }
    const bool given = i < into.size() && into[i].target.defined();
    outputs.push_back(given ? into[i].target : Tensor(shared, specs[i].shape, specs[i].type));
    descriptor.tensors[call.inputs.size() + i].data = outputs[i].data();
  }
  device.enqueue(descriptor.op, call.params.size(), call.operation->name);
  return outputs;
}

Tensors run_decomposed(const Call& call, const TensorSpecs& specs, std::span<const Into> into) {
  Call detached = call;
  for (Tensor& input : detached.inputs) input = input.detached();
  if (detached.operation->accumulates) detached.params.set_accumulate(0);
  Tensors outputs = call.operation->decomposition(detached, into);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (!call.wants(i)) {
      outputs[i] = {};  // computed on the way; a tape is not to keep it
      continue;
    }
    if (i >= into.size() || !into[i].target.defined()) continue;
    const Tensor result = outputs[i].reshaped(into[i].target.shape());
    copy_into(into[i].target, into[i].accumulate ? add(into[i].target.detached(), result) : result);
    outputs[i] = into[i].target;
  }
  return outputs;
}

}  // namespace

Tensors apply_operation(Call call, std::span<const Into> into) {
  const Operation& operation = *call.operation;
  std::uint32_t accumulate = 0;
  for (std::size_t i = 0; i < into.size(); ++i) {
    if (!into[i].wanted) call.wanted &= ~(1u << i);
    if (into[i].accumulate) accumulate |= 1u << i;
  }
  if (operation.accumulates) call.params.set_accumulate(accumulate);

  Device& device = any_defined(call, into).device();
  check_one_device(call, device);
  const TensorSpecs specs = operation.shapes != nullptr ? operation.shapes(call) : specs_of(into);
  Descriptor descriptor;
  describe(call, specs, descriptor);

  Tensors outputs;
  if (device.supports(descriptor.op, call.params.size())) {
    outputs = run_natively(call, specs, into, device, descriptor);
  } else if (operation.decomposition != nullptr) {
    outputs = run_decomposed(call, specs, into);
  } else {
    std::string why_not;
    device.supports(descriptor.op, call.params.size(), &why_not);
    fail(ExitCode::backend, "backend '{}' cannot run {}: {}", device.backend().name(), operation.name,
         why_not);
  }
  if (Recorder* recorder = recorder_of(call)) recorder->record(call, outputs);
  return outputs;
}

Tensor apply_one(const Operation& operation, Tensors inputs, const Params& params) {
  return apply_operation(Call{&operation, std::move(inputs), params, 1u})[0];
}

Tensor apply_to(const Operation& operation, const Tensor& target, Tensors inputs, const Params& params) {
  const Into into{target};
  return apply_operation(Call{&operation, std::move(inputs), params, 1u}, {&into, 1})[0];
}

double bytes_moved(const Call& call, const TensorSpecs& outputs) {
  const auto bytes_of = [](const Shape& shape, DType type) {
    return static_cast<double>(shape.elements()) * static_cast<double>(size_of(type));
  };
  // Of tensors that are only partly touched, the part.
  switch (call.operation->kind) {
    case ATTN_OP_SLICE:
      return 2 * bytes_of(outputs[0].shape, outputs[0].type);
    case ATTN_OP_GATHER_ROWS:
      return static_cast<double>(call.input(1).bytes()) + 2 * bytes_of(outputs[0].shape, outputs[0].type);
    case ATTN_OP_SLICE_ADD:
      return 3 * static_cast<double>(call.input(0).bytes());
    case ATTN_OP_SCATTER_ADD_ROWS:
      return static_cast<double>(call.input(1).bytes()) + 3 * static_cast<double>(call.input(0).bytes());
    default:
      break;
  }
  double bytes = 0;
  for (const Tensor& input : call.inputs) {
    if (input.defined()) bytes += static_cast<double>(input.bytes());
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (call.wants(i)) bytes += bytes_of(outputs[i].shape, outputs[i].type);
  }
  return bytes;
}

}  // namespace attn::ops
