// What is particular to the CUDA plugin, run on the emulation.
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "../backends/harness.h"
#include "support/catch.h"

using namespace attn::test;

namespace {

const attn_backend& table() {
  return *plugins().front().table;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// An environment variable for as long as the object lives.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Setting() { unsetenv(name_); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* name_;
};

/// f32 memory of a device.
class Memory {
 public:
  Memory(const Backend& backend, const std::vector<float>& values)
      : backend_(backend), count_(values.size()) {
    REQUIRE(table().allocate(backend.context(), bytes(), &data_, nullptr) == ATTN_OK);
    REQUIRE(table().upload(backend.context(), data_, values.data(), bytes(), nullptr) == ATTN_OK);
  }
  ~Memory() { table().release(backend_.context(), data_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  attn_tensor tensor() const { return {data_, ATTN_F32, 1, {static_cast<int64_t>(count_)}}; }
  std::vector<float> values() const {
    std::vector<float> host(count_);
    REQUIRE(table().download(backend_.context(), host.data(), data_, bytes(), nullptr) == ATTN_OK);
    return host;
  }

 private:
  std::size_t bytes() const { return count_ * sizeof(float); }
  const Backend& backend_;
  std::size_t count_;
  void* data_ = nullptr;
};

/// Parameters with their moments, and Adam steps for all of them.
class Model {
 public:
  Model(const Backend& backend, int tensors) : control_(backend, {0.1f, 0.1f, 0.01f, 1.0f}) {
    for (int tensor = 0; tensor < tensors; ++tensor) {
      std::vector<float> values(static_cast<std::size_t>(3 + 700 * tensor));
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i + tensor));
      for (int part = 0; part < 4; ++part) {
        const float scale = part < 2 ? 1.0f + static_cast<float>(part) : 0.0f;
        std::vector<float> scaled = values;
        for (float& value : scaled) value *= scale;
        memory_.push_back(std::make_unique<Memory>(backend, scaled));
      }
    }
    for (std::size_t first = 0; first < memory_.size(); first += 4) {
      tensors_.push_back({memory_[first]->tensor(), control_.tensor(), memory_[first + 1]->tensor(),
                          memory_[first + 2]->tensor(), memory_[first + 3]->tensor()});
    }
    for (const auto& of_step : tensors_) ops_.push_back({ATTN_OP_ADAM, 2, 3, of_step.data(), &params_});
  }

  const std::vector<attn_op>& ops() const { return ops_; }
  std::vector<std::vector<float>> values() const {
    std::vector<std::vector<float>> all;
    for (const auto& memory : memory_) all.push_back(memory->values());
    return all;
  }

 private:
  Memory control_;
  std::vector<std::unique_ptr<Memory>> memory_;
  attn_adam_params params_{sizeof(attn_adam_params), 0, 0.9, 0.999, 1e-8, 0.01};
  std::vector<std::vector<attn_tensor>> tensors_;
  std::vector<attn_op> ops_;
};

void run(const Backend& backend, const attn_op* ops, std::size_t count, uint64_t repeat_key) {
  const attn_batch batch{sizeof batch, static_cast<uint32_t>(count), ops, repeat_key, nullptr, 0};
  attn_error error{};
  const attn_status status = table().run(backend.context(), &batch, &error);
  INFO(error.message);
  REQUIRE(status == ATTN_OK);
}

float one_product(int allow_tf32, float factor) {
  const attn_options options{sizeof(attn_options), 0, 1, 1, allow_tf32};
  attn_context* context = nullptr;
  REQUIRE(table().open(&options, &context, nullptr) == ATTN_OK);
  void* memory = nullptr;
  REQUIRE(table().allocate(context, 3 * sizeof(float), &memory, nullptr) == ATTN_OK);
  float values[3] = {factor, factor, 0};
  REQUIRE(table().upload(context, memory, values, sizeof values, nullptr) == ATTN_OK);
  auto* const data = static_cast<float*>(memory);
  const attn_tensor tensors[] = {
      {data, ATTN_F32, 2, {1, 1}}, {data + 1, ATTN_F32, 2, {1, 1}}, {data + 2, ATTN_F32, 2, {1, 1}}};
  const attn_matmul_params params{sizeof params, 0, 0, 0, 1, 0};
  const attn_op op{ATTN_OP_MATMUL, 2, 1, tensors, &params};
  const attn_batch batch{sizeof batch, 1, &op, 0, nullptr, 0};
  REQUIRE(table().run(context, &batch, nullptr) == ATTN_OK);
  REQUIRE(table().download(context, values, memory, sizeof values, nullptr) == ATTN_OK);
  table().release(context, memory);
  table().close(context);
  return values[2];
}

}  // namespace

TEST_CASE("without a device the plugin says why") {
  const Setting none("ATTN_CUDA_EMULATION_DEVICES", "0");
  attn_error error{};
  CHECK(table().device_count(&error) == 0);
  CHECK(std::string(error.message) == "no CUDA device: no CUDA-capable device is detected");
  const attn_options options{sizeof(attn_options), 0, 1, 1, 0};
  attn_context* context = nullptr;
  CHECK(table().open(&options, &context, &error) == ATTN_NO_DEVICE);
  CHECK(contains(error.message, "no CUDA device"));
}

TEST_CASE("a device is chosen by its index") {
  const Setting two("ATTN_CUDA_EMULATION_DEVICES", "2");
  CHECK(table().device_count(nullptr) == 2);
  attn_error error{};
  attn_context* context = nullptr;
  const attn_options second{sizeof(attn_options), 1, 1, 1, 0}, third{sizeof(attn_options), 2, 1, 1, 0};
  REQUIRE(table().open(&second, &context, &error) == ATTN_OK);
  table().close(context);
  CHECK(table().open(&third, &context, &error) == ATTN_NO_DEVICE);
  CHECK(std::string(error.message) == "there is no CUDA device 2, only 0 to 1");
}

TEST_CASE("memory that is exhausted is reported with the sizes") {
  const Backend backend(plugins().front());
  void* data = nullptr;
  attn_error error{};
  const std::size_t bytes = std::size_t{1} << 40;
  CHECK(table().allocate(backend.context(), bytes, &data, &error) == ATTN_OUT_OF_MEMORY);
  CHECK(contains(error.message, "no memory for 1099511627776 bytes"));
  CHECK(contains(error.message, "of 4096 MiB are free on device 0"));
  REQUIRE(table().allocate(backend.context(), 64, &data, &error) == ATTN_OK);
  table().release(backend.context(), data);
}

TEST_CASE("an id outside the table fails the next wait, and nothing else after it") {
  const Backend backend(plugins().front());
  const Real real{ATTN_F32};
  const auto gather = [&](double id) {
    return Operation(ATTN_OP_GATHER_ROWS)
        .input(real({3, 1}, {1, 2, 3}))
        .input(i32({2}, {0, id}))
        .output(real.output({2, 1}));
  };
  const attn_error error = backend.try_run({gather(1), gather(3)});
  CHECK(error.status == ATTN_INVALID);
  CHECK(error.op_index == 1);
  CHECK(std::string(error.message) ==
        "operation 1: id 3 at position 1 is not a row of the table, which has 3 rows");
  check_equal(backend.run(gather(2))[0], real({2, 1}, {1, 3}));
}

TEST_CASE("a label that is no class is named as one") {
  const Backend backend(plugins().front());
  const Real real{ATTN_F64};
  const Operation loss = Operation(ATTN_OP_CROSS_ENTROPY)
                             .params(attn_cross_entropy_params{0, 0, ATTN_SMOOTH_UNIFORM, -1, 0})
                             .input(real({2, 3}, {1, 2, 3, 4, 5, 6}))
                             .input(i32({2}, {-1, 5}))
                             .output(real.output({2}))
                             .output(real.output({2}));
  const attn_error error = backend.try_run({loss});
  CHECK(error.status == ATTN_INVALID);
  CHECK(contains(error.message, "label 5 at position 1 is not one of 3 classes"));
}

TEST_CASE("cached attention to rows that are not in the cache is refused") {
  const Backend backend(plugins().front());
  const Real real{ATTN_F32};
  const auto attend = [&](double row, double visible) {
    return Operation(ATTN_OP_CACHED_ATTENTION)
        .params(attn_attention_params{0, 0, 1, ATTN_MASK_EXACT, 0, 0, 0, 1.0, 0.0})
        .input(real({1, 1, 1}, {1}))
        .input(real({2, 1}, {0, 0}))
        .input(real({2, 1}, {3, 5}))
        .input(i32({1, 2}, {1, row}))
        .input(i32({1}, {visible}))
        .output(real.output({1, 1, 1}))
        .output(absent());
  };
  check_equal(backend.run(attend(0, 2))[0], real({1, 1, 1}, {4}));
  for (const double row : {-1.0, 2.0}) {
    const attn_error error = backend.try_run({attend(row, 2)});
    CHECK(error.status == ATTN_INVALID);
    CHECK(contains(error.message, "at position 1"));
  }
}

TEST_CASE("steps for which the cache has no room are refused and not written") {
  const Backend backend(plugins().front());
  const Real real{ATTN_F32};
  const auto append = [&](double position) {
    return Operation(ATTN_OP_KV_APPEND)
        .input(real({1, 2, 1}, {8, 9}))
        .input(i32({}, {position}))
        .output(real({1, 3, 1}, {1, 2, 3}));
  };
  check_equal(backend.run(append(1))[0], real({1, 3, 1}, {1, 8, 9}));
  std::vector<Tensor> outputs;
  const attn_error error = backend.try_run({append(2)}, &outputs);
  CHECK(error.status == ATTN_INVALID);
  CHECK(contains(error.message, "from position 2 on, only up to position 1"));
  check_equal(outputs[0], real({1, 3, 1}, {1, 2, 3}));
}

TEST_CASE("Adam steps of one batch give the same bits as one after another") {
  const Backend backend(plugins().front());
  const Model together(backend, 40), apart(backend, 40);
  run(backend, together.ops().data(), together.ops().size(), 0);
  for (const attn_op& op : apart.ops()) run(backend, &op, 1, 0);
  CHECK(together.values() == apart.values());
  CHECK(together.values()[1] != Model(backend, 1).values()[1]);
}

TEST_CASE("Adam steps on the same parameter stay one after another") {
  const Backend backend(plugins().front());
  const Model together(backend, 1), apart(backend, 1);
  const std::vector<attn_op> twice(2, together.ops()[0]);
  run(backend, twice.data(), twice.size(), 0);
  for (int step = 0; step < 2; ++step) run(backend, apart.ops().data(), 1, 0);
  CHECK(together.values() == apart.values());
}

TEST_CASE("a batch with a key gives the same bits when it is replayed") {
  const Backend backend(plugins().front());
  const Model replayed(backend, 3), plain(backend, 3);
  for (int step = 0; step < 5; ++step) {
    run(backend, replayed.ops().data(), replayed.ops().size(), 77);
    run(backend, plain.ops().data(), plain.ops().size(), 0);
    CHECK(replayed.values() == plain.values());
  }
}

TEST_CASE("a batch that fails while it is captured leaves the context usable") {
  const Backend backend(plugins().front());
  const Model model(backend, 1);
  run(backend, model.ops().data(), 1, 5);
  attn_op broken = model.ops()[0];
  broken.kind = 9999;
  const attn_batch batch{sizeof batch, 1, &broken, 5, nullptr, 0};
  attn_error error{};
  CHECK(table().run(backend.context(), &batch, &error) == ATTN_INVALID);
  CHECK(error.op_index == 0);
  run(backend, model.ops().data(), 1, 5);
  CHECK(table().synchronize(backend.context(), &error) == ATTN_OK);
}

TEST_CASE("products are exact to f32 unless tf32 or bf16 is allowed") {
  const float fine = 1 + 1.0f / (1 << 12), coarse = 1 + 1.0f / (1 << 9);
  CHECK(one_product(0, fine) == fine * fine);
  CHECK(one_product(1, fine) == 1);
  CHECK(one_product(1, coarse) == coarse * coarse);
  CHECK(one_product(2, coarse) == 1);
}
