#include "golden_run.h"

#include <algorithm>

#include "scenario.h"
#include "support/catch.h"

namespace attn::test {

Tensor GoldenRun::constant(const std::string& dataset) const {
  return numbers(golden.values(dataset), Shape(std::span<const std::int64_t>(golden.shape(dataset))));
}

Tensor GoldenRun::leaf(const std::string& dataset) {
  return leaves_[dataset] = tape_.watch(constant(dataset));
}

Tensor GoldenRun::leaf_if_there(const std::string& dataset) {
  return golden.has(dataset) ? leaf(dataset) : Tensor{};
}

Tensor GoldenRun::integers(const std::string& dataset) const {
  return whole_numbers(golden.integers(dataset), Shape(std::span<const std::int64_t>(golden.shape(dataset))));
}

Tensor GoldenRun::numbers(const std::vector<double>& values, const Shape& shape) const {
  return Tensor::from<double>(device_, values, shape, type_);
}

Tensor GoldenRun::whole_numbers(const std::vector<std::int32_t>& values, const Shape& shape) const {
  return Tensor::from<std::int32_t>(device_, values, shape);
}

void GoldenRun::expect(const std::string& dataset, const Tensor& found) const {
  expect(dataset, found.to_vector<double>(), golden.values(dataset));
}

void GoldenRun::expect(const std::string& what, const std::vector<double>& found,
                       const std::vector<double>& expected) const {
  INFO(what);
  CHECK(relative_difference(found, expected) < (type_ == DType::f64 ? 1e-9 : 1e-4));
}

void GoldenRun::expect_gradients(const std::vector<std::pair<std::string, Tensor>>& outputs) {
  Tensor loss;
  for (const auto& [cotangent, output] : outputs) {
    const Tensor share = ops::sum(ops::multiply(output, constant(cotangent).reshaped(output.shape())));
    loss = loss.defined() ? ops::add(loss, share) : share;
  }
  tape_.backward(loss);
  int compared = 0;
  for (const auto& [name, leaf] : leaves_) {
    if (!golden.has("grad_" + name)) continue;
    expect("grad_" + name, tape_.gradient_of(leaf));
    ++compared;
  }
  const auto datasets = golden.datasets();
  CHECK(compared == std::count_if(datasets.begin(), datasets.end(), [](const std::string& name) {
          return name.find("grad_") != std::string::npos && name.find("padding_idx") == std::string::npos;
        }));
}

void for_every_backend(const std::string& name, const std::function<void(GoldenRun&)>& run) {
  for (const std::string backend : {"reference", "eigen", "torch", "cuda"}) {
    const auto device = backend == "reference" ? reference_device() : device_if_there(backend);
    if (!device) continue;
    for (const DType type : {DType::f64, DType::f32}) {
      INFO(name << " on " << backend << " in " << name_of(type));
      GoldenRun one(name, device, type);
      run(one);
    }
  }
}

std::vector<attn_masking> maskings_for(const GoldenCase& golden) {
  if (golden.has("valid_lens")) {
    const auto lengths = golden.integers("valid_lens");
    if (std::find(lengths.begin(), lengths.end(), 0) != lengths.end()) return {ATTN_MASK_BOOK};
  }
  return {ATTN_MASK_BOOK, ATTN_MASK_EXACT};
}

}  // namespace attn::test
