#pragma once
// One use of one operation that a backend is asked for, written down as numbers.
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attn/ops/operation.h"
#include "attn/runtime/random.h"

namespace attn::conformance {

/// A tensor on the host. Values of every type are held as f64; bf16 and i8 as their bit patterns.
struct CaseTensor {
  DType type = DType::f32;
  Shape shape;
  std::vector<double> values;  ///< of inputs and of outputs that are read; other outputs have none
  bool present = true;
  bool in_out = false;  ///< an output that is read as well
  int alias = -1;       ///< an output that lies in the memory of this input
};

struct Case {
  std::uint32_t kind = 0;
  std::string name;
  DType real = DType::f32;
  bool uses_real = false;  ///< a tensor has the type `real`, so that the case differs between f32 and f64
  std::vector<CaseTensor> inputs, outputs;
  ops::Params params;
  std::uint32_t accumulate = 0;
  bool exact = false;    ///< data only moves: no rounding is allowed
  double magnitude = 0;  ///< size of the terms that are summed, where it is more than that of the results
};

/// Encoded as the type stores it, and back.
std::vector<std::byte> encode(const CaseTensor& tensor);
std::vector<double> decode(DType type, std::span<const std::byte> bytes);
/// As many elements as the tensor has.
std::size_t elements_of(const CaseTensor& tensor);

/// The outputs of a case as libattn computes them on a device: natively where the backend can, otherwise by
/// decomposition; always by decomposition if `decompose` is set and the operation has one.
std::vector<CaseTensor> evaluate_case(const std::shared_ptr<Device>& device, const Case& one,
                                      bool decompose = false);

/// The same case with f64 wherever it has f32.
Case in_f64(Case one);

/// Fills in a case: first its inputs, then its outputs, in the order of op_kinds.h.
class Builder {
 public:
  /// Values follow from the seed and the name alone. `reference` computes what a forward pass saves.
  Builder(std::uint32_t kind, std::string name, std::uint64_t seed, DType real,
          std::shared_ptr<Device> reference);

  template<typename P>
  Builder& params(P params) {
    case_.params = ops::Params(params);
    return *this;
  }
  /// A floating-point input with random values that f32 holds exactly.
  Builder& in(const Shape& shape, double low = -1, double high = 1);
  Builder& in(const Shape& shape, std::vector<double> values);
  Builder& integers(const Shape& shape, std::vector<double> values);
  /// Random integers in [low, high).
  Builder& integers(const Shape& shape, std::int64_t low, std::int64_t high);
  /// An input of a type of its own.
  Builder& typed(DType type, const Shape& shape, std::vector<double> values);
  Builder& given(CaseTensor tensor);
  Builder& absent();
  /// The counter of dropout, or nothing if the rate is 0.
  Builder& random(double rate);

  Builder& out(const Shape& shape);
  Builder& out(DType type, const Shape& shape);
  Builder& in_out(const Shape& shape, double low = -1, double high = 1);
  Builder& alias(std::size_t input);
  Builder& no_output();
  /// An optional output: not wanted, overwritten, or added to, as bits of the two masks say.
  Builder& gradient(const Shape& shape, std::uint32_t wanted, std::uint32_t accumulate);

  Builder& exact();
  Builder& magnitude(double value);

  /// A builder for the forward operation whose saved outputs this case needs, with the same random values.
  Builder forward(std::uint32_t kind) const;
  /// The outputs that the reference computes for what has been filled in so far.
  std::vector<CaseTensor> outputs() const;
  const std::vector<CaseTensor>& inputs() const { return case_.inputs; }

  RandomSequence& random_numbers() { return random_; }
  DType real() const { return case_.real; }
  Case take();

 private:
  Case case_;
  std::uint64_t seed_;
  RandomSequence random_;
  std::shared_ptr<Device> reference_;
};

/// A case that has not been filled in yet.
struct Recipe {
  std::uint32_t kind = 0;
  std::string name;
  std::function<void(Builder&)> fill;
};

/// All recipes of one check.
class Recipes {
 public:
  Recipes(std::uint64_t seed, bool quick) : seed_(seed), quick_(quick), random_(seed, "shapes") {}

  void add(std::uint32_t kind, const std::string& description, std::function<void(Builder&)> fill);
  bool quick() const noexcept { return quick_; }
  /// How many cases with random shapes each kind of case gets.
  int random_count() const noexcept { return quick_ ? 2 : 8; }
  /// A size between 1 and `most`, more often odd and small than not.
  std::int64_t size(std::int64_t most);
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(bound)));
  }
  /// A random shape of this rank with at most `most` elements.
  Shape shape(int rank, std::int64_t most);

  const std::vector<Recipe>& all() const noexcept { return all_; }

 private:
  std::uint64_t seed_;
  bool quick_;
  RandomSequence random_;
  std::vector<Recipe> all_;
};

void add_elementwise_recipes(Recipes& recipes);
void add_product_recipes(Recipes& recipes);
void add_softmax_recipes(Recipes& recipes);
void add_movement_recipes(Recipes& recipes);
void add_row_recipes(Recipes& recipes);
void add_linear_recipes(Recipes& recipes);
void add_attention_recipes(Recipes& recipes);
void add_norm_recipes(Recipes& recipes);
void add_sequence_recipes(Recipes& recipes);
void add_loss_recipes(Recipes& recipes);
void add_optimizer_recipes(Recipes& recipes);

Recipes all_recipes(std::uint64_t seed, bool quick);

}  // namespace attn::conformance
