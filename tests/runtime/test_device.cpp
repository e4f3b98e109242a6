#include "attn/ops/ops.h"
#include "attn/runtime/device.h"
#include "attn/runtime/tensor.h"
#include "support/catch.h"
#include "support/error_of.h"

namespace {

using namespace attn;
using namespace attn::test;

std::string plugin(const std::string& name) {
  return std::string(ATTN_TEST_PLUGINS) + "/" + name + ".so";
}

template<typename Action>
std::string backend_error(Action action) {
  const auto error = error_of(action);
  REQUIRE(error);
  CHECK(error->code() == ExitCode::backend);
  return error->what();
}

Tensor vector_of(const std::shared_ptr<Device>& device, std::int64_t size) {
  return Tensor::from<float>(device, std::vector<float>(static_cast<std::size_t>(size), 1.5f), {size});
}

// A step whose sizes and order repeat, as in training.
void one_step(const std::shared_ptr<Device>& device) {
  const Tensor x = vector_of(device, 1000);
  const Tensor y = ops::add(ops::tanh(x), ops::multiply(x, x));
  (void)ops::matmul(y.reshaped({10, 100}), y.reshaped({100, 10})).to_vector<float>();
}

}  // namespace

TEST_CASE("a second equal step allocates nothing new") {
  const auto device = Device::open("reference");
  one_step(device);
  const auto first = device->memory();
  CHECK(first.allocations > 0);
  CHECK(first.in_use == 0);
  CHECK(first.reserved > 0);
  for (int step = 0; step < 5; ++step) one_step(device);
  CHECK(device->memory().allocations == first.allocations);
  CHECK(device->memory().reserved == first.reserved);
  CHECK(device->memory().peak_in_use == first.peak_in_use);
  CHECK(device->memory().in_use == 0);
}

TEST_CASE("memory in use follows the tensors, and the cache can be given back") {
  const auto device = Device::open("reference");
  {
    const Tensor x = vector_of(device, 1000);
    const std::size_t one = device->memory().in_use;
    CHECK(one >= 4000);
    CHECK(one <= 4500);
    const Tensor same = x, seen = x.reshaped({10, 100}), part = x.rows(3, 5);
    CHECK(device->memory().in_use == one);
    const Tensor other = ops::copy(x);
    CHECK(device->memory().in_use == 2 * one);
    device->release_cache();
    CHECK(device->memory().reserved == 2 * one);
  }
  CHECK(device->memory().in_use == 0);
  CHECK(device->memory().peak_in_use > 0);
  device->reset_peak();
  CHECK(device->memory().peak_in_use == 0);
  device->release_cache();
  CHECK(device->memory().reserved == 0);
}

TEST_CASE("slightly different sizes share buffers of the cache, and waste at most an eighth") {
  const auto device = Device::open("reference");
  for (const std::size_t bytes : {1u, 255u, 256u, 257u, 1000u, 4096u, 4097u, 100000u, 1048577u}) {
    const auto storage = device->allocate(bytes);
    CHECK(storage->bytes() >= bytes);
    CHECK(storage->bytes() <= std::max<std::size_t>(256, bytes + bytes / 8 + 64));
  }
  (void)device->allocate(100000);
  const auto before = device->memory().allocations;
  (void)device->allocate(100001);
  CHECK(device->memory().allocations == before);
}

TEST_CASE("a storage keeps its device open") {
  Tensor kept;
  {
    const auto device = Device::open("reference");
    kept = Tensor::from<double>(device, std::vector<double>{1, 2}, {2});
  }
  CHECK(ops::add(kept, kept).to_vector<double>() == std::vector<double>{2, 4});
}

TEST_CASE("a device that does not exist or cannot be opened is an error") {
  const auto message = backend_error([] { (void)Device::open(plugin("fails"), {.device = 2}); });
  CHECK(contains(message, "no device 2"));
  CHECK(contains(message, "has 2"));
  CHECK(contains(backend_error([] { (void)Device::open(plugin("fails"), {.device = -1}); }), "no device -1"));
  CHECK(contains(backend_error([] { (void)Device::open(plugin("fails"), {.device = 1}); }),
                 "the device is busy"));
}

TEST_CASE("an operation that fails is an error that names the backend, the operation and the reason") {
  const auto device = Device::open(plugin("fails"));
  const std::string message = backend_error([&] { (void)ops::argmax(vector_of(device, 3)); });
  CHECK(contains(message, "'fails'"));
  CHECK(contains(message, "argmax"));
  CHECK(contains(message, "the device fell off"));
}

TEST_CASE("an operation that fails in a queue is named when the queue is run") {
  const auto device = Device::open(plugin("fails_later"));
  const Tensor x = vector_of(device, 3);
  Tensor y;
  CHECK_NOTHROW(y = ops::tanh(x));
  CHECK_NOTHROW((void)ops::argmax(x));
  CHECK_NOTHROW(y = ops::exp(x));
  const std::string message = backend_error([&] { (void)y.to_vector<float>(); });
  CHECK(contains(message, "argmax"));
  CHECK_NOTHROW((void)y.to_vector<float>());  // what failed is not run again
}

TEST_CASE("a device whose queue fails can be closed") {
  auto device = Device::open(plugin("fails_later"));
  (void)ops::argmax(vector_of(device, 3));
  CHECK_NOTHROW(device.reset());
}

TEST_CASE("a queue is run when it is full") {
  const auto device = Device::open(plugin("fails_later"));
  const Tensor x = vector_of(device, 3);
  (void)ops::argmax(x);
  CHECK(contains(backend_error([&] {
                   for (int i = 0; i < 1000; ++i) (void)ops::tanh(x);
                 }),
                 "argmax"));
}

TEST_CASE("a primitive that the backend lacks is an error with its reason") {
  const auto device = Device::open(plugin("fails"));
  const Tensor random = Tensor::from<std::int32_t>(device, std::vector<std::int32_t>{1, 2, 3, 4}, {4});
  for (int again = 0; again < 2; ++again) {
    const std::string message = backend_error([&] {
      (void)ops::dropout(vector_of(device, 3), {0.5, random, 0});
    });
    CHECK(contains(message, "dropout"));
    CHECK(contains(message, "dropout is not known here"));
  }
}

TEST_CASE("memory that is exhausted is an error with the sizes") {
  const auto device = Device::open(plugin("fails"));
  const Tensor held = vector_of(device, 1000);
  const std::string message = backend_error([&] { (void)device->allocate(10 << 20); });
  CHECK(contains(message, "the memory is full"));
  CHECK(contains(message, std::to_string(10 << 20)));
  CHECK(contains(message, std::to_string(device->memory().in_use)));
  CHECK_NOTHROW((void)vector_of(device, 1000));
}

TEST_CASE("buffers of ever new sizes do not pile up in the cache") {
  const auto device = Device::open("reference");
  constexpr std::size_t mebibyte = std::size_t{1} << 20;
  for (std::size_t size = 1; size <= 200; ++size) (void)device->allocate(size * mebibyte);
  CHECK(device->memory().peak_in_use >= 200 * mebibyte);
  CHECK(device->memory().reserved <= 2 * device->memory().peak_in_use + 256 * mebibyte);
}

TEST_CASE("a limit of memory holds, after the cache was given back") {
  DeviceOptions options;
  options.memory_limit = 64 << 10;
  const auto device = Device::open("reference", options);
  const auto held = device->allocate(16 << 10);
  { const auto cached = device->allocate(40 << 10); }
  CHECK(device->memory().reserved == 56 << 10);
  { const auto other_size = device->allocate(20 << 10); }
  CHECK(device->memory().reserved == 36 << 10);
  const auto error = error_of([&] { (void)device->allocate(56 << 10); });
  REQUIRE(error);
  CHECK(error->code() == ExitCode::backend);
  CHECK(contains(error->what(), "backend.memory_limit"));
  CHECK(contains(error->what(), "65536"));
  CHECK(device->memory().in_use == 16 << 10);
  CHECK_THROWS_AS(device->allocate(56 << 10), OutOfMemory);
  CHECK_NOTHROW(device->allocate(48 << 10));
}

TEST_CASE("the observer sees every operation with its name, and the count of operations grows") {
  const auto device = Device::open("reference");
  const Tensor x = vector_of(device, 4);
  std::vector<std::string> names;
  std::vector<std::uint32_t> kinds;
  const auto before = device->operations_run();
  device->set_observer([&](const attn_op& op, const char* name) {
    names.emplace_back(name);
    kinds.push_back(op.kind);
  });
  (void)ops::add(ops::tanh(x), x);
  device->set_observer({});
  (void)ops::tanh(x);
  CHECK(names == std::vector<std::string>{"unary", "binary"});
  CHECK(kinds == std::vector<std::uint32_t>{ATTN_OP_UNARY, ATTN_OP_BINARY});
  CHECK(device->operations_run() == before + 3);
}

TEST_CASE("operands on different devices are an error that names the operation") {
  const auto one = Device::open("reference"), other = Device::open("reference");
  const auto error = error_of([&] { (void)ops::add(vector_of(one, 2), vector_of(other, 2)); });
  REQUIRE(error);
  CHECK(contains(error->what(), "binary"));
  CHECK(contains(error->what(), "different devices"));
}
