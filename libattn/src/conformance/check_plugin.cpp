// What a host relies on beside the operations: the table, devices, memory, batches.
#include <array>
#include <cstring>

#include "check_cases.h"

namespace attn::conformance {
namespace {

attn_error clean() {
  return {ATTN_OK, -1, {}};
}

std::string message_of(const attn_error& error) {
  return {error.message, strnlen(error.message, sizeof error.message)};
}

template<typename... Args>
void expect(bool holds, const char* aspect, fmt::format_string<Args...> format, Args&&... args) {
  if (!holds) throw Fault(aspect, fmt::format(format, std::forward<Args>(args)...));
}

// A failure has the status that it should have, in both places, and a message.
void expect_failure(const char* aspect, const char* what, attn_status found, attn_status wanted,
                    const attn_error& error) {
  expect(found == wanted, aspect, "{} gave status {}, expected {}", what, static_cast<int>(found),
         static_cast<int>(wanted));
  expect(error.status == wanted, aspect, "{} left error.status {}, expected {}", what, error.status,
         static_cast<int>(wanted));
  expect(!message_of(error).empty(), aspect, "{} gave no message", what);
}

void check_device_that_is_not_there(const Workbench& bench) {
  const attn_backend& table = bench.backend->table();
  const std::int32_t beyond = table.device_count(nullptr);
  attn_device_info info{};
  info.struct_size = sizeof info;
  attn_error error = clean();
  expect_failure("device", "device_info of a device that does not exist",
                 table.device_info(beyond, &info, &error), ATTN_NO_DEVICE, error);
  attn_options options{};
  options.struct_size = sizeof options;
  options.device = beyond;
  options.threads = 1;
  attn_context* context = nullptr;
  error = clean();
  expect_failure("device", "open of a device that does not exist", table.open(&options, &context, &error),
                 ATTN_NO_DEVICE, error);
  expect(table.open(&options, &context, nullptr) == ATTN_NO_DEVICE, "device",
         "open without an attn_error behaves differently");
}

void check_device_info(const Workbench& bench) {
  const attn_backend& table = bench.backend->table();
  attn_device_info info{};
  info.struct_size = sizeof info;
  attn_error error = clean();
  expect(table.device_info(bench.options.device, &info, &error) == ATTN_OK, "device",
         "device_info failed: {}", message_of(error));
  expect(info.struct_size == sizeof info, "device", "device_info changed struct_size to {}",
         info.struct_size);
  expect(info.name[0] != '\0', "device", "the device has no name");
  expect(info.memory_total > 0 && info.memory_free <= info.memory_total, "device",
         "{} of {} bytes of memory are free", info.memory_free, info.memory_total);
  expect(info.alignment >= 64, "device", "the alignment is {}, expected at least 64", info.alignment);
  // a program that was compiled when the struct ended earlier
  std::memset(&info, 0x5A, sizeof info);
  info.struct_size = offsetof(attn_device_info, name);
  expect(table.device_info(bench.options.device, &info, &error) == ATTN_OK, "device",
         "device_info failed for a shorter struct: {}", message_of(error));
  expect(info.name[0] == 0x5A, "device", "device_info wrote behind the end of a shorter struct");
}

void check_allocation(const Workbench& bench, std::size_t bytes) {
  const Session& session = bench.one_thread;
  void* data = nullptr;
  attn_error error = clean();
  expect(session.table().allocate(session.context(), bytes, &data, &error) == ATTN_OK, "memory",
         "{} bytes cannot be allocated: {}", bytes, message_of(error));
  const bool aligned = reinterpret_cast<std::uintptr_t>(data) % 64 == 0;
  session.table().release(session.context(), data);
  expect(aligned, "memory", "{} bytes were not aligned to 64", bytes);
}

void check_too_much(const Workbench& bench) {
  const Session& session = bench.one_thread;
  for (const std::size_t bytes : {SIZE_MAX - 10, SIZE_MAX / 2}) {
    void* data = nullptr;
    attn_error error = clean();
    expect_failure("memory", "an allocation of more memory than there is",
                   session.table().allocate(session.context(), bytes, &data, &error), ATTN_OUT_OF_MEMORY,
                   error);
    expect(error.op_index == -1, "memory", "a failed allocation names operation {}", error.op_index);
  }
  check_allocation(bench, 1000);  // and the context goes on
}

void check_transfers(const Workbench& bench) {
  const Session& session = bench.one_thread;
  const Memory memory(session, 16);
  const char sent[] = "0123456789abcdef";
  char received[5] = "";
  attn_error error = clean();
  const auto upload = [&](std::size_t at, const char* from, std::size_t bytes) {
    expect(session.table().upload(session.context(), memory.data() + at, from, bytes, &error) == ATTN_OK,
           "memory", "an upload failed: {}", message_of(error));
  };
  upload(0, sent, 16);
  upload(6, "XY", 2);
  upload(3, "", 0);
  expect(session.table().download(session.context(), received, memory.data() + 5, 4, &error) == ATTN_OK,
         "memory", "a download failed: {}", message_of(error));
  expect(std::string(received) == "5XY8", "memory",
         "what was uploaded to an offset came back as '{}', expected '5XY8'", received);
}

void check_chain(const Workbench& bench) {
  const Session& session = bench.one_thread;
  const Memory memory(session, 3 * sizeof(float));
  const attn_tensor x{memory.data(), ATTN_F32, 1, {3}};
  const std::array<attn_tensor, 2> in_place{x, x};
  const attn_fill_params fill{sizeof fill, 0, 1.5};
  const attn_affine_params twice{sizeof twice, 0, 2, 1};
  std::vector<attn_op> ops{{ATTN_OP_FILL, 0, 1, &x, &fill}};
  for (int i = 0; i < 40; ++i) ops.push_back({ATTN_OP_AFFINE, 1, 1, in_place.data(), &twice});
  const float expected = 2.5F * 1099511627776.0F - 1;  // 2^40 (1.5 + 1) - 1
  // again with the same key, which allows a replay
  for (int repetition = 0; repetition < 3; ++repetition) {
    const attn_batch batch{sizeof batch, static_cast<std::uint32_t>(ops.size()), ops.data(), 7, nullptr, 0};
    attn_error error = clean();
    expect(session.table().run(session.context(), &batch, &error) == ATTN_OK, "batch",
           "a batch of 41 operations failed: {}", message_of(error));
    const std::vector<std::byte> bytes = memory.download();
    std::array<float, 3> values{};
    std::memcpy(values.data(), bytes.data(), bytes.size());
    for (const float value : values)
      expect(value == expected, "batch", "operations that depend on each other gave {}, expected {}", value,
             expected);
  }
}

void check_elapsed(const Workbench& bench) {
  const Session& session = bench.one_thread;
  if (!ATTN_HAS(&session.table(), attn_backend, elapsed)) return;
  const Memory memory(session, 8);
  const attn_tensor y{memory.data(), ATTN_F64, 0, {}};
  const attn_fill_params params{sizeof params, 0, 2.5};
  const attn_op op{ATTN_OP_FILL, 0, 1, &y, &params};
  const attn_batch batch{sizeof batch, 1, &op, 0, nullptr, 0};
  attn_error error = clean();
  double seconds = -1, value = 0;
  expect(session.table().elapsed(session.context(), &batch, &seconds, &error) == ATTN_OK, "batch",
         "elapsed failed: {}", message_of(error));
  const std::vector<std::byte> bytes = memory.download();
  std::memcpy(&value, bytes.data(), sizeof value);
  expect(seconds >= 0 && value == 2.5, "batch", "elapsed took {} s and gave {}, expected 2.5", seconds,
         value);
}

}  // namespace

void check_table(const Workbench& bench) {
  check_aspect(bench, "table", "entries", [&] {
    const attn_backend& table = bench.backend->table();
    expect(table.abi_minor <= ATTN_ABI_MINOR || table.struct_size >= sizeof(attn_backend), "table",
           "the table of {} bytes is shorter than that of its minor version {}", table.struct_size,
           table.abi_minor);
    expect(table.version[0] != '\0' && table.description != nullptr && table.description[0] != '\0', "table",
           "version or description is empty");
    expect(table.device_count(nullptr) > 0, "table", "device_count differs without an attn_error");
  });
  check_aspect(bench, "device", "information", [&] { check_device_info(bench); });
  check_aspect(bench, "device", "that does not exist", [&] { check_device_that_is_not_there(bench); });
}

void check_memory(const Workbench& bench) {
  for (const std::size_t bytes : {0, 1, 63, 64, 65, 100000})
    check_aspect(bench, "memory", fmt::format("{} bytes", bytes), [&] { check_allocation(bench, bytes); });
  check_aspect(bench, "memory", "more than there is", [&] { check_too_much(bench); });
  check_aspect(bench, "memory", "offsets", [&] { check_transfers(bench); });
}

void check_batches(const Workbench& bench) {
  check_aspect(bench, "batch", "empty", [&] {
    const attn_batch batch{sizeof batch, 0, nullptr, 0, nullptr, 0};
    attn_error error = clean();
    expect(bench.one_thread.table().run(bench.one_thread.context(), &batch, &error) == ATTN_OK, "batch",
           "an empty batch failed: {}", message_of(error));
  });
  check_aspect(bench, "batch", "operations that depend on each other", [&] { check_chain(bench); });
  check_aspect(bench, "batch", "elapsed", [&] { check_elapsed(bench); });
}

}  // namespace attn::conformance
