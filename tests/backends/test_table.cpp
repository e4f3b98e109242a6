// What a host relies on before it runs anything.
#include <cstring>

#include "abi_is_c.h"
#include "harness.h"
#include "support/catch.h"

using namespace attn::test;

TEST_CASE("a C compiler sees the same structs as a C++ compiler") {
  CHECK(c_sees_table_size() == sizeof(attn_backend));
  CHECK(c_sees_matmul_params_size() == sizeof(attn_matmul_params));
}

TEST_CASE("a plugin says which ABI it was built for and fills in its table") {
  REQUIRE(!plugins().empty());
  for (const Plugin& plugin : plugins()) {
    INFO(plugin.file);
    const attn_backend& table = *plugin.table;
    CHECK(table.struct_size == sizeof(attn_backend));
    CHECK(table.abi_major == ATTN_ABI_MAJOR);
    CHECK(table.abi_minor <= ATTN_ABI_MINOR);
    CHECK(plugin.file.find(std::string("libattn-backend-") + table.name) != std::string::npos);
    CHECK(std::strlen(table.version) > 0);
    CHECK(std::strlen(table.description) > 0);
    CHECK((table.device_count && table.device_info && table.open && table.close));
    CHECK((table.allocate && table.release && table.upload && table.download));
    CHECK((table.query && table.run && table.synchronize));
    CHECK(c_finds_elapsed(&table) == (table.elapsed != nullptr ? 1 : 0));
  }
}

TEST_CASE("a plugin without a device says why") {
  for (const Plugin& plugin : plugins()) {
    INFO(plugin.file);
    attn_error error{};
    if (plugin.table->device_count(&error) == 0) CHECK(std::strlen(error.message) > 0);
    CHECK(plugin.table->device_count(nullptr) >= 0);
  }
}

TEST_CASE("device_info describes the device") {
  for_each_backend([](const Backend& backend) {
    attn_device_info info{};
    info.struct_size = sizeof info;
    attn_error error{};
    REQUIRE(backend.table().device_info(0, &info, &error) == ATTN_OK);
    CHECK(info.struct_size == sizeof info);
    CHECK(std::strlen(info.name) > 0);
    CHECK(info.memory_total > 0);
    CHECK(info.memory_free <= info.memory_total);
    CHECK(info.alignment >= 64);
  });
}

TEST_CASE("device_info fills in no more than an older program's struct") {
  for_each_backend([](const Backend& backend) {
    attn_device_info info;
    std::memset(&info, 0x5A, sizeof info);
    info.struct_size = offsetof(attn_device_info, name);
    attn_error error{};
    REQUIRE(backend.table().device_info(0, &info, &error) == ATTN_OK);
    CHECK(info.struct_size == offsetof(attn_device_info, name));
    CHECK(info.alignment >= 64);
    CHECK(info.name[0] == 0x5A);
  });
}

TEST_CASE("a device that does not exist is refused with a reason") {
  for_each_backend([](const Backend& backend) {
    const int32_t beyond = backend.table().device_count(nullptr);
    attn_device_info info{};
    info.struct_size = sizeof info;
    attn_error error{};
    CHECK(backend.table().device_info(beyond, &info, &error) == ATTN_NO_DEVICE);
    CHECK(error.status == ATTN_NO_DEVICE);
    CHECK(std::strlen(error.message) > 0);

    const attn_options options{sizeof(attn_options), beyond, 1, 1, 0};
    attn_context* context = nullptr;
    CHECK(backend.table().open(&options, &context, &error) == ATTN_NO_DEVICE);
    CHECK(backend.table().open(&options, &context, nullptr) == ATTN_NO_DEVICE);
  });
}

TEST_CASE("memory is aligned to 64 bytes and 0 bytes can be had") {
  for_each_backend([](const Backend& backend) {
    for (const std::size_t bytes : {0, 1, 63, 64, 65, 100000}) {
      void* data = nullptr;
      attn_error error{};
      REQUIRE(backend.table().allocate(backend.context(), bytes, &data, &error) == ATTN_OK);
      CHECK(reinterpret_cast<std::uintptr_t>(data) % 64 == 0);
      backend.table().release(backend.context(), data);
    }
  });
}

TEST_CASE("more memory than there is fails with out of memory") {
  for_each_backend([](const Backend& backend) {
    void* data = nullptr;
    attn_error error{};
    CHECK(backend.table().allocate(backend.context(), SIZE_MAX - 10, &data, &error) == ATTN_OUT_OF_MEMORY);
    CHECK(error.op_index == -1);
    CHECK(std::strlen(error.message) > 0);
  });
}

TEST_CASE("what was uploaded to an offset comes back") {
  for_each_backend([](const Backend& backend) {
    void* data = nullptr;
    attn_error error{};
    REQUIRE(backend.table().allocate(backend.context(), 16, &data, &error) == ATTN_OK);
    const char sent[17] = "0123456789abcdef";
    char received[5] = "";
    CHECK(backend.table().upload(backend.context(), data, sent, 16, &error) == ATTN_OK);
    CHECK(backend.table().upload(backend.context(), static_cast<char*>(data) + 6, "XY", 2, &error) ==
          ATTN_OK);
    CHECK(backend.table().download(backend.context(), received, static_cast<char*>(data) + 5, 4, &error) ==
          ATTN_OK);
    CHECK(std::string(received) == "5XY8");
    backend.table().release(backend.context(), data);
  });
}

TEST_CASE("an empty batch succeeds") {
  for_each_backend([](const Backend& backend) { CHECK(backend.try_run({}).status == ATTN_OK); });
}

TEST_CASE("elapsed runs the batch and measures it") {
  for_each_backend([](const Backend& backend) {
    if (!ATTN_HAS(&backend.table(), attn_backend, elapsed)) return;
    void* data = nullptr;
    attn_error error{};
    REQUIRE(backend.table().allocate(backend.context(), 8, &data, &error) == ATTN_OK);
    const attn_tensor y{data, ATTN_F64, 0, {}};
    const attn_fill_params params{sizeof params, 0, 2.5};
    const attn_op op{ATTN_OP_FILL, 0, 1, &y, &params};
    const attn_batch batch{sizeof batch, 1, &op, 0, nullptr, 0};
    double seconds = -1, value = 0;
    CHECK(backend.table().elapsed(backend.context(), &batch, &seconds, &error) == ATTN_OK);
    CHECK(seconds >= 0);
    CHECK(backend.table().download(backend.context(), &value, data, 8, &error) == ATTN_OK);
    CHECK(value == 2.5);
    backend.table().release(backend.context(), data);
  });
}
