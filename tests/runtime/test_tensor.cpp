#include <limits>

#include "attn/runtime/tensor.h"
#include "support/catch.h"
#include "support/error_of.h"

namespace {

using namespace attn;
using namespace attn::test;

template<typename Action>
std::string internal_error(Action action) {
  const auto error = error_of(action);
  REQUIRE(error.has_value());
  CHECK(error->code() == ExitCode::internal);
  return error->what();
}

Tensor counting(const std::shared_ptr<Device>& device, const Shape& shape) {
  std::vector<float> values(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return Tensor::from<float>(device, values, shape);
}

}  // namespace

TEST_CASE("a shape counts its elements and names its axes from both ends") {
  const Shape shape{2, 3, 4};
  CHECK(shape.rank() == 3);
  CHECK(shape.elements() == 24);
  CHECK(shape.leading() == 6);
  CHECK(shape.leading(2) == 2);
  CHECK(shape[0] == 2);
  CHECK(shape[-1] == 4);
  CHECK(shape.back() == 4);
  CHECK(shape.checked_axis(-3) == 0);
  CHECK(shape.to_string() == "[2, 3, 4]");
  CHECK(fmt::format("{}", shape) == "[2, 3, 4]");
  CHECK(shape.with(1, 7).to_string() == "[2, 7, 4]");
  CHECK(shape.with(-1, 7).to_string() == "[2, 3, 7]");
  CHECK(shape.without_last().to_string() == "[2, 3]");
  CHECK(shape.without_last(3).to_string() == "[]");
  CHECK(shape.appended(5).to_string() == "[2, 3, 4, 5]");
  CHECK(shape == Shape{2, 3, 4});
  CHECK(shape != Shape{2, 3});
  CHECK(shape != Shape{2, 3, 5});
}

TEST_CASE("a scalar has one element, an empty dimension none") {
  CHECK(Shape{}.elements() == 1);
  CHECK(Shape{}.to_string() == "[]");
  CHECK(Shape{2, 0, 3}.elements() == 0);
}

TEST_CASE("a shape refuses an axis that it does not have and too many dimensions") {
  CHECK(contains(internal_error([] { (void)Shape{2, 3}[2]; }), "[2, 3]"));
  CHECK(contains(internal_error([] { (void)Shape{2, 3}[-3]; }), "-3"));
  internal_error([] { (void)Shape{}.back(); });
  internal_error([] { (void)Shape{1, 1, 1, 1, 1, 1, 1}; });
  internal_error([] { (void)Shape{1, 1, 1, 1, 1, 1}.appended(1); });
  CHECK(contains(internal_error([] { (void)Shape{2, -1}; }), "-1"));
  internal_error([] { (void)Shape{2}.with(0, -3); });
  internal_error([] { (void)Shape{2}.appended(-3); });
}

TEST_CASE("shapes are broadcast from the right") {
  CHECK(broadcast("x", {2, 3}, {3}).to_string() == "[2, 3]");
  CHECK(broadcast("x", {3, 1}, {1, 4}).to_string() == "[3, 4]");
  CHECK(broadcast("x", {}, {2}).to_string() == "[2]");
  CHECK(broadcast("x", {1}, {0}).to_string() == "[0]");
  const std::string message = internal_error([] { (void)broadcast("scale", {2, 3}, {2}); });
  CHECK(contains(message, "scale"));
  CHECK(contains(message, "[2, 3]"));
  CHECK(contains(message, "[2]"));
}

TEST_CASE("values come back as they were put in, converted where asked") {
  const auto device = Device::open("reference");
  const std::vector<double> values{0.5, -1.75, 3.0};
  const Tensor x = Tensor::from<double>(device, values, {3});
  CHECK(x.dtype() == DType::f64);
  CHECK(x.bytes() == 24);
  CHECK(x.to_vector<double>() == values);
  CHECK(x.to_vector<float>() == std::vector<float>{0.5f, -1.75f, 3.0f});
  CHECK(x.to_vector<std::int32_t>() == std::vector<std::int32_t>{0, -1, 3});
  const Tensor narrow = Tensor::from<double>(device, std::vector<double>{0.1}, {1}, DType::f32);
  CHECK(narrow.dtype() == DType::f32);
  CHECK(narrow.item() == static_cast<double>(0.1f));
  const Tensor whole = Tensor::from<float>(device, std::vector<float>{2.9f, -2.9f}, {2}, DType::i32);
  CHECK(whole.to_vector<double>() == std::vector<double>{2, -2});
  CHECK(Tensor::zeros(device, {2, 2}, DType::f32).to_vector<float>() == std::vector<float>(4, 0.0f));
  CHECK(Tensor::zeros(device, {2}, DType::i32).to_vector<std::int32_t>() == std::vector<std::int32_t>(2, 0));
}

TEST_CASE("a scalar and an empty tensor are tensors") {
  const auto device = Device::open("reference");
  const Tensor scalar = Tensor::from<double>(device, std::vector<double>{4.5}, {});
  CHECK(scalar.rank() == 0);
  CHECK(scalar.item() == 4.5);
  const Tensor empty = Tensor::from<float>(device, std::vector<float>{}, {3, 0});
  CHECK(empty.defined());
  CHECK(empty.elements() == 0);
  CHECK(empty.to_vector<float>().empty());
  CHECK(empty.rows(1, 2).shape().to_string() == "[2, 0]");
  CHECK_FALSE(Tensor().defined());
  CHECK_FALSE(static_cast<bool>(Tensor()));
}

TEST_CASE("a wrong number of values is an error with both counts") {
  const auto device = Device::open("reference");
  const std::vector<float> three(3);
  const std::string message = internal_error([&] { (void)Tensor::from<float>(device, three, {2, 2}); });
  CHECK(contains(message, "3"));
  CHECK(contains(message, "[2, 2]"));
  CHECK(
      contains(internal_error([&] { counting(device, {2}).assign(std::span<const float>(three)); }), "[2]"));
  CHECK(contains(internal_error([&] { (void)counting(device, {2}).item(); }), "[2]"));
}

TEST_CASE("copies, reshaped tensors and views share the elements") {
  const auto device = Device::open("reference");
  const Tensor x = counting(device, {4, 3});
  const Tensor same = x, flat = x.reshaped({12}), rows = x.rows(1, 2), part = x.view(5, {2, 2});
  CHECK(rows.shape().to_string() == "[2, 3]");
  CHECK(rows.to_vector<float>() == std::vector<float>{3, 4, 5, 6, 7, 8});
  CHECK(part.to_vector<float>() == std::vector<float>{5, 6, 7, 8});
  CHECK(rows.rows(1, 1).to_vector<float>() == std::vector<float>{6, 7, 8});
  CHECK_FALSE(x.unique());
  rows.assign(std::span<const float>(std::vector<float>{9, 9, 9, 9, 9, 9}));
  CHECK(flat.to_vector<float>() == std::vector<float>{0, 1, 2, 9, 9, 9, 9, 9, 9, 9, 10, 11});
  CHECK(same.to_vector<float>() == flat.to_vector<float>());
  CHECK(counting(device, {2}).unique());
}

TEST_CASE("views and shapes that do not fit are errors that name both") {
  const auto device = Device::open("reference");
  const Tensor x = counting(device, {4, 3});
  CHECK(contains(internal_error([&] { (void)x.reshaped({5, 2}); }), "[4, 3]"));
  CHECK(contains(internal_error([&] { (void)x.reshaped({5, 2}); }), "[5, 2]"));
  CHECK(contains(internal_error([&] { (void)x.rows(3, 2); }), "[4, 3]"));
  internal_error([&] { (void)x.rows(-1, 2); });
  internal_error([&] { (void)x.rows(std::numeric_limits<std::int64_t>::max(), 1); });
  CHECK(contains(internal_error([&] { (void)x.view(9, {2, 2}); }), "[2, 2]"));
  internal_error([&] { (void)Tensor::from<float>(device, std::vector<float>{1}, {}).rows(0, 1); });
}

TEST_CASE("a tensor tells the backend its address, type and dimensions") {
  const auto device = Device::open("reference");
  const Tensor x = counting(device, {4, 3});
  const attn_tensor whole = x.descriptor(), part = x.rows(2, 1).descriptor();
  CHECK(whole.dtype == ATTN_F32);
  CHECK(whole.rank == 2);
  CHECK(whole.dims[0] == 4);
  CHECK(whole.dims[1] == 3);
  CHECK(static_cast<char*>(part.data) - static_cast<char*>(whole.data) == 6 * 4);
  CHECK(Tensor().descriptor().rank == -1);
}
