#include <algorithm>

#include "attn/processor_tiles.h"
#include "attn/runtime/backend.h"
#include "attn/runtime/device.h"
#include "scratch_folder.h"
#include "support/catch.h"
#include "support/error_of.h"

namespace {

using namespace attn;
using namespace attn::test;

std::string plugin(const std::string& name) {
  return std::string(ATTN_TEST_PLUGINS) + "/" + name + ".so";
}

// The message of a plugin that cannot be loaded; it names the file.
std::string refusal(const std::string& file) {
  const auto error = error_of([&] { (void)find_backend(file); });
  REQUIRE(error);
  CHECK(error->code() == ExitCode::backend);
  CHECK(contains(error->what(), file));
  return error->what();
}

const BackendListing* listed(const std::vector<BackendListing>& all, const std::filesystem::path& file) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.file == file; });
  return found != all.end() ? &*found : nullptr;
}

}  // namespace

TEST_CASE("a plugin file that does not exist is an error that says so") {
  CHECK(contains(refusal("/nowhere/libattn-backend-x.so"), "does not exist"));
}

TEST_CASE("a folder in place of a plugin file is an error that says so") {
  const ScratchFolder folder;
  CHECK(contains(refusal(folder.path().string()), "is a folder"));
}

TEST_CASE("a file that is no library is an error that says so") {
  const ScratchFolder folder;
  folder.write("plugin.so", "hello");
  CHECK(contains(refusal((folder.path() / "plugin.so").string()), "cannot be loaded"));
  folder.write("empty.so", "");
  CHECK(contains(refusal((folder.path() / "empty.so").string()), "cannot be loaded"));
}

TEST_CASE("a library without the entry point is an error that names it") {
  CHECK(contains(refusal(plugin("no_entry")), "attn_backend_get"));
}

TEST_CASE("a plugin for another major version is refused with both versions") {
  const std::string message = refusal(plugin("other_major"));
  CHECK(contains(message, fmt::format("version {} ", ATTN_ABI_MAJOR + 1)));
  CHECK(contains(message, fmt::format("has {}", ATTN_ABI_MAJOR)));
  CHECK(contains(message, "rebuild"));
}

TEST_CASE("a table that is too short, has empty entries or is not there is refused") {
  CHECK(contains(refusal(plugin("short_table")), "required entries"));
  CHECK(contains(refusal(plugin("empty_entry")), "required entries"));
  CHECK(contains(refusal(plugin("no_table")), "no table"));
}

TEST_CASE("a longer table of a later minor version is accepted") {
  const auto backend = find_backend(plugin("long_table"));
  CHECK(backend->name() == "long_table");
  CHECK(backend->version() == "1");
  CHECK(backend->file() == plugin("long_table"));
  CHECK(backend->device_count() == 1);
  CHECK(Device::open(backend)->name() == "nothing");
}

TEST_CASE("a relative path to a plugin is found") {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(ATTN_TEST_PLUGINS);
  const auto name = find_backend("./accepts_all.so")->name();
  std::filesystem::current_path(before);
  CHECK(name == "accepts_all");
}

TEST_CASE("no device is an answer with its reason, and an error to open") {
  const auto backend = find_backend(plugin("no_device"));
  std::string why_not;
  CHECK(backend->device_count(&why_not) == 0);
  CHECK(why_not == "there is no driver");
  const auto error = error_of([&] { (void)Device::open(backend); });
  REQUIRE(error);
  CHECK(error->code() == ExitCode::backend);
  CHECK(contains(error->what(), "no_device"));
  CHECK(contains(error->what(), "there is no driver"));
}

TEST_CASE("an unknown backend name lists those there are and where they were looked for") {
  const ScratchFolder folder;
  folder.install("accepts_all", "mine");
  folder.write("libattn-backend-notes.txt", "");
  const BackendPath path(folder.path().string());
  const auto error = error_of([] { (void)find_backend("egen"); });
  REQUIRE(error);
  CHECK(error->code() == ExitCode::backend);
  CHECK(contains(error->what(), "'egen'"));
  CHECK(contains(error->what(), "mine"));
  CHECK(contains(error->what(), "reference"));
  CHECK_FALSE(contains(error->what(), "notes"));
  CHECK(contains(error->what(), folder.path().string()));
  CHECK(contains(error->what(), "ATTN_BACKEND_PATH"));
}

TEST_CASE(
    "the folders of ATTN_BACKEND_PATH come first, in their order; empty and missing ones do not matter") {
  const ScratchFolder first, second;
  first.install("accepts_all", "one");
  second.install("fails", "one");
  second.install("long_table", "two");
  const auto path_of = [](const ScratchFolder& a, const ScratchFolder& b) {
    return a.path().string() + "::/nowhere/at/all:" + b.path().string();
  };
  {
    const BackendPath path(path_of(first, second));
    CHECK(find_backend("one")->name() == "accepts_all");
    CHECK(find_backend("two")->name() == "long_table");
    CHECK(find_backend("reference")->name() == "reference");
    const auto folders = backend_search_path();
    REQUIRE(folders.size() >= 4);
    CHECK(folders[0] == first.path());
    CHECK(folders[2] == second.path());
  }
  const BackendPath path(path_of(second, first));
  CHECK(find_backend("one")->name() == "fails");
}

TEST_CASE("of several instruction sets the best that this CPU has is taken") {
  const ScratchFolder folder;
  folder.install("accepts_all", "many-generic");
  folder.install("accepts_all", "many-v9");  // no instruction set, so a backend of this name
  folder.install("no_entry", "broken-v2");
  const BackendPath path(folder.path().string());
  CHECK(find_backend("many")->file() == folder.path() / "libattn-backend-many-generic.so");
  CHECK(find_backend("many-generic")->file() == find_backend("many")->file());
  CHECK(find_backend("many-v9")->name() == "accepts_all");
#if defined(__x86_64__)
  folder.install("fails", "many-v2");
  if (__builtin_cpu_supports("sse4.2")) {
    CHECK(find_backend("many")->file() == folder.path() / "libattn-backend-many-v2.so");
    CHECK(contains(refusal((folder.path() / "libattn-backend-broken-v2.so").string()), "attn_backend_get"));
    CHECK(find_backend("many-v2")->file() == folder.path() / "libattn-backend-many-v2.so");
  }
  folder.install("fails", "many-amx");
  if (__builtin_cpu_supports("avx512f") && attn_processor_tiles_granted() != 0) {
    CHECK(find_backend("many")->file() == folder.path() / "libattn-backend-many-amx.so");
  } else {
    CHECK(find_backend("many")->file() != folder.path() / "libattn-backend-many-amx.so");
    CHECK(contains(refusal("many-amx"), "many-amx"));
  }
#endif
}

TEST_CASE("the list of backends has every plugin file with what it is or why it cannot be used") {
  const ScratchFolder folder;
  folder.install("accepts_all", "good");
  folder.install("other_major", "new-generic");
  folder.install("no_device", "idle");
  folder.write("libattn-backend-text.so", "hello");
  folder.write("readme.so", "hello");
  const BackendPath path(folder.path().string());
  const auto all = list_backends();
  const auto file = [&](const char* name) {
    return folder.path() / (std::string("libattn-backend-") + name + ".so");
  };

  const auto* good = listed(all, file("good"));
  REQUIRE(good != nullptr);
  CHECK(good->name == "good");
  CHECK(good->loaded);
  CHECK(good->version == "1");
  CHECK(good->description == "does nothing");
  CHECK(good->abi == fmt::format("{}.{}", ATTN_ABI_MAJOR, ATTN_ABI_MINOR));
  CHECK(good->devices == std::vector<std::string>{"nothing"});
  CHECK(good->instruction_set.empty());

  const auto* other = listed(all, file("new-generic"));
  REQUIRE(other != nullptr);
  CHECK(other->name == "new");
  CHECK(other->instruction_set == "generic");
  CHECK_FALSE(other->loaded);
  CHECK(contains(other->why_not, "version"));

  const auto* idle = listed(all, file("idle"));
  REQUIRE(idle != nullptr);
  CHECK(idle->loaded);
  CHECK(idle->devices.empty());
  CHECK(idle->why_not == "there is no driver");

  const auto* text = listed(all, file("text"));
  REQUIRE(text != nullptr);
  CHECK_FALSE(text->loaded);
  CHECK(contains(text->why_not, "cannot be loaded"));
  CHECK(listed(all, folder.path() / "readme.so") == nullptr);
  CHECK(std::any_of(all.begin(), all.end(),
                    [](const auto& one) { return one.name == "reference" && one.loaded; }));
}
