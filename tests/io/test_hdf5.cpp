#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <thread>

#include "attn/io/atomic_file.h"
#include "attn/io/hdf5.h"
#include "support/catch.h"
#include "support/error_of.h"
#include "support/golden.h"
#include "support/text_files.h"

using attn::Error;
using attn::ExitCode;
using attn::test::contains;
using attn::test::error_of;
using attn::test::TemporaryFolder;
namespace fs = std::filesystem;
namespace hdf5 = attn::hdf5;

namespace {

std::vector<float> ramp(std::size_t size) {
  std::vector<float> values(size);
  std::iota(values.begin(), values.end(), 0.5F);
  return values;
}

void require_error(const std::optional<Error>& error, ExitCode code,
                   std::initializer_list<std::string> parts) {
  REQUIRE(error);
  INFO(error->what());
  CHECK(error->code() == code);
  for (const std::string& part : parts) {
    INFO("expected in the message: " << part);
    CHECK(contains(error->what(), part));
  }
}

/// Files that this process writes may not grow beyond a size: what a full disk does, without filling one.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limited = {bytes, old_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limited);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit old_ = {};
  void (*handler_)(int);
};

}  // namespace

TEST_CASE("HDF5 keeps numbers of every type with their shape", "[hdf5]") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "numbers.h5";
  {
    auto file = hdf5::File::create(path);
    file.write("model/f32", ramp(6), {2, 3}, hdf5::Storage::checked());
    file.write("model/f64", std::vector<double>{0.1, -1e300}, hdf5::Storage::compressed());
    file.write("i32", std::vector<std::int32_t>{-7, 2147483647});
    file.write("i64", std::vector<std::int64_t>{-9223372036854775807LL});
    file.write("u8", std::vector<std::uint8_t>{0, 255});
    file.write("u64", std::vector<std::uint64_t>{18446744073709551615ULL});
    file.write("empty", std::vector<float>{}, {0, 4}, hdf5::Storage::compressed());
    file.write_scalar("scalar", 2.5);
    file.close();
  }
  const auto file = hdf5::File::open(path);
  CHECK(file.names() == std::vector<std::string>{"empty", "i32", "i64", "model", "scalar", "u64", "u8"});
  CHECK(file.dataset_paths().size() == 8);
  CHECK(file.read<float>("/model/f32", {2, 3}) == ramp(6));
  CHECK(file.group("model").read<double>("f64") == std::vector<double>{0.1, -1e300});
  CHECK(file.read<std::int32_t>("i32") == std::vector<std::int32_t>{-7, 2147483647});
  CHECK(file.read<std::int64_t>("i64") == std::vector<std::int64_t>{-9223372036854775807LL});
  CHECK(file.read<std::uint8_t>("u8") == std::vector<std::uint8_t>{0, 255});
  CHECK(file.read<std::uint64_t>("u64") == std::vector<std::uint64_t>{18446744073709551615ULL});
  CHECK(file.dataset("empty").shape() == hdf5::Shape{0, 4});
  CHECK(file.read<float>("empty").empty());
  CHECK(file.dataset("scalar").shape().empty());
  CHECK(file.read<double>("scalar").front() == 2.5);
  CHECK(file.dataset("model/f32").read_rows<float>(1, 1) == std::vector<float>{3.5F, 4.5F, 5.5F});
}

TEST_CASE("HDF5 strings are UTF-8 and may be empty", "[hdf5]") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "strings.h5";
  const std::vector<std::string> texts = {"猫吃鱼", "", "l'été\r\x85", std::string(100000, 'x')};
  {
    auto file = hdf5::File::create(path);
    file.write_strings("sentences/source", texts, hdf5::Storage::compressed());
    file.write_strings("none", {});
    file.write_string("meta/config_yaml", "a: 1\n");
    file.write_string("blank", "");
    file.set_attribute("command_line", "attn-train 猫.yaml");
    file.close();
  }
  const auto file = hdf5::File::open(path);
  CHECK(file.read_strings("sentences/source") == texts);
  CHECK(file.read_strings("none").empty());
  CHECK(file.read_string("/meta/config_yaml") == "a: 1\n");
  CHECK(file.read_string("blank").empty());
  CHECK(file.string_attribute("command_line") == "attn-train 猫.yaml");
  CHECK(file.dataset("blank").type() == "string");
}

TEST_CASE("a text with NUL is refused, since HDF5 would cut it", "[hdf5]") {
  const TemporaryFolder folder;
  auto file = hdf5::File::create(folder.path() / "nul.h5");
  using namespace std::string_literals;
  require_error(error_of([&] { file.write_strings("texts", std::vector<std::string>{"a\0b"s}); }),
                ExitCode::input_data, {"/texts", "nul.h5", "NUL"});
  CHECK_FALSE(file.exists("texts"));
}

TEST_CASE("HDF5 attributes hold strings, integers and reals, and can be replaced", "[hdf5]") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "attributes.h5";
  {
    auto file = hdf5::File::create(path);
    auto weights = file.write("weights", ramp(4));
    weights.describe("attention weights", "1");
    weights.set_attribute("trainable", std::uint8_t{0});
    weights.set_attribute("trainable", std::uint8_t{1});
    weights.set_attribute("epsilon", 1e-8);
    weights.set_attribute("betas", std::vector<double>{0.9, 0.98});
    weights.set_attribute("step", std::int64_t{1} << 40);
    file.close();
  }
  const auto weights = hdf5::File::open(path).dataset("weights");
  const auto file = hdf5::File::open(path);
  const auto stored = file.dataset("weights");
  CHECK(stored.attribute_names() ==
        std::vector<std::string>{"betas", "epsilon", "long_name", "step", "trainable", "units"});
  CHECK(stored.string_attribute("units") == "1");
  CHECK(stored.attribute<std::uint8_t>("trainable") == 1);
  CHECK(stored.attribute<std::int64_t>("trainable") == 1);
  CHECK(stored.attribute<double>("epsilon") == 1e-8);
  CHECK(stored.attribute_values<double>("betas") == std::vector<double>{0.9, 0.98});
  CHECK(stored.attribute<std::int64_t>("step") == std::int64_t{1} << 40);
  CHECK_FALSE(stored.has_attribute("absent"));
  require_error(error_of([&] { (void)stored.attribute<double>("absent"); }), ExitCode::input_data,
                {"attributes.h5", "/weights", "'absent'", "missing"});
  require_error(error_of([&] { (void)stored.attribute<std::int32_t>("step"); }), ExitCode::input_data,
                {"'step'", "i64", "expected i32"});
  require_error(error_of([&] { (void)stored.string_attribute("epsilon"); }), ExitCode::input_data,
                {"'epsilon'", "f64", "string"});
}

TEST_CASE("an extendable dataset grows row by row", "[hdf5]") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "grow.h5";
  {
    auto file = hdf5::File::create(path);
    auto storage = hdf5::Storage::compressed();
    storage.extendable = true;
    auto spans = file.create_dataset<std::int32_t>("span", {0, 2}, storage);
    auto texts = file.create_string_dataset("text", {0}, storage);
    for (std::int32_t i = 0; i < 1000; ++i) {
      spans.append(std::span<const std::int32_t>(std::vector<std::int32_t>{i, -i}));
      texts.append_strings(std::vector<std::string>{std::to_string(i)});
    }
    CHECK(spans.shape() == hdf5::Shape{1000, 2});
    const std::vector<std::int32_t> three(3);
    require_error(error_of([&] { spans.append(std::span<const std::int32_t>(three)); }), ExitCode::internal,
                  {"/span"});
    file.close();
  }
  const auto file = hdf5::File::open(path);
  CHECK(file.dataset("span").read_rows<std::int32_t>(998, 2) ==
        std::vector<std::int32_t>{998, -998, 999, -999});
  CHECK(file.read_strings("text").at(999) == "999");
}

TEST_CASE("a dataset of another type or shape says what was found and what was expected", "[hdf5]") {
  const TemporaryFolder folder;
  auto file = hdf5::File::create(folder.path() / "types.h5");
  file.write("real", std::vector<double>{1, 2, 3});
  file.write_string("text", "x");
  require_error(error_of([&] { (void)file.read<float>("real"); }), ExitCode::input_data,
                {"types.h5", "/real", "f64", "expected f32"});
  require_error(error_of([&] { (void)file.read<double>("text"); }), ExitCode::input_data,
                {"string", "expected f64"});
  require_error(error_of([&] { (void)file.read_strings("real"); }), ExitCode::input_data,
                {"f64", "expected string"});
  require_error(error_of([&] {
                  (void)file.read<double>("real", {3, 1});
                }),
                ExitCode::input_data, {"(3,)", "expected (3, 1)"});
  require_error(error_of([&] { (void)file.read<double>("model/absent"); }), ExitCode::input_data,
                {"/model/absent", "missing"});
  require_error(error_of([&] { (void)file.group("absent"); }), ExitCode::input_data, {"/absent", "missing"});
  CHECK(file.read<double>("real") == std::vector<double>{1, 2, 3});  // the file is still usable
}

TEST_CASE("opening what is no HDF5 file is one clear sentence", "[hdf5]") {
  const TemporaryFolder folder;
  require_error(error_of([&] { (void)hdf5::File::open(folder.path() / "absent.h5"); }), ExitCode::file,
                {"absent.h5", "No such file"});
  require_error(error_of([&] { (void)hdf5::File::open(folder.path()); }), ExitCode::file, {"folder"});
  require_error(error_of([&] { (void)hdf5::File::open(folder.write("empty.h5", "")); }), ExitCode::file,
                {"empty.h5", "is empty"});
  require_error(error_of([&] { (void)hdf5::File::open(folder.write("text.h5", std::string(5000, 'a'))); }),
                ExitCode::file, {"text.h5", "not an HDF5 file"});
  require_error(error_of([&] { (void)hdf5::File::create(folder.path() / "absent" / "x.h5"); }),
                ExitCode::file, {"x.h5", "No such file"});
}

TEST_CASE("a truncated HDF5 file is reported wherever it is cut", "[hdf5]") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "whole.h5";
  {
    auto file = hdf5::File::create(path);
    file.write("values", ramp(20000), hdf5::Storage::checked());
    file.close();
  }
  const std::string bytes = attn::read_file(path);
  for (const std::size_t size :
       {bytes.size() - 1, bytes.size() / 2, std::size_t{600}, std::size_t{50}, std::size_t{9}}) {
    INFO("cut to " << size << " bytes");
    const fs::path cut = folder.write("cut.h5", std::string_view(bytes).substr(0, size));
    require_error(error_of([&] { (void)hdf5::File::open(cut); }), ExitCode::file, {"cut.h5", "truncated"});
  }
}

TEST_CASE("a flipped bit in checked data is an error that stays", "[hdf5]") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "flipped.h5";
  {
    auto file = hdf5::File::create(path);
    file.write("model/weights", std::vector<float>(5000, 1234.5F), hdf5::Storage::checked());
    file.write("other", ramp(3));
    file.close();
  }
  CHECK_NOTHROW(hdf5::verify(path));
  std::string bytes = attn::read_file(path);
  const float value = 1234.5F;
  const std::string pattern(reinterpret_cast<const char*>(&value), sizeof value);
  const std::size_t place = bytes.find(pattern + pattern);
  REQUIRE(place != std::string::npos);
  bytes[place + 400] = static_cast<char>(bytes[place + 400] ^ 1);
  folder.write("flipped.h5", bytes);
  require_error(error_of([&] { hdf5::verify(path); }), ExitCode::file,
                {"flipped.h5", "/model/weights", "checksum"});
  const auto file = hdf5::File::open(path);
  const auto first = error_of([&] { (void)file.read<float>("model/weights"); });
  require_error(first, ExitCode::file, {"/model/weights", "checksum"});
  const auto second = error_of([&] { (void)file.read<float>("other"); });
  REQUIRE(second);
  CHECK(std::string(second->what()) == first->what());
}

TEST_CASE("a full disk is an error at every later call, and leaves no file behind", "[hdf5]") {
  const TemporaryFolder folder;
  const fs::path path = folder.write("result.h5", "the old content");
  std::optional<Error> first;
  std::optional<Error> later;
  std::optional<Error> whole;
  {
    const FileSizeLimit limit(64 * 1024);
    whole = error_of([&] {
      hdf5::write_atomically(path, [&](hdf5::File& file) {
        first = error_of([&] { file.write("big", ramp(1000000)); });
        later = error_of([&] { file.write("small", ramp(1)); });
      });
    });
  }
  require_error(first, ExitCode::file, {"/big", "result.h5", "File too large"});
  REQUIRE(later);
  CHECK(std::string(later->what()) == first->what());
  REQUIRE(whole);
  CHECK(std::string(whole->what()) == first->what());
  CHECK(attn::read_file(path) == "the old content");
  CHECK_FALSE(fs::exists(path.string() + ".part"));
}

TEST_CASE("a disk that is full only at close is an error too", "[hdf5]") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "late.h5";
  std::optional<Error> error;
  {
    const FileSizeLimit limit(4096);
    error = error_of([&] {
      hdf5::write_atomically(path, [&](hdf5::File& file) {
        for (int i = 0; i < 40; ++i) file.write(fmt::format("d{}", i), ramp(200), hdf5::Storage::checked());
      });
    });
  }
  require_error(error, ExitCode::file, {"late.h5"});
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("a file that another program writes is an error about the lock", "[hdf5]") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "busy.h5";
  int ready[2];
  int done[2];
  REQUIRE(pipe(ready) == 0);
  REQUIRE(pipe(done) == 0);
  const pid_t writer = fork();
  if (writer == 0) {
    char byte = 0;
    const auto file = hdf5::File::create(path);
    const bool waited = write(ready[1], &byte, 1) == 1 && read(done[0], &byte, 1) == 1;
    _exit(waited ? 0 : 1);
  }
  char byte = 0;
  REQUIRE(read(ready[0], &byte, 1) == 1);
  const auto error = error_of([&] { (void)hdf5::File::open(path); });
  CHECK(write(done[1], &byte, 1) == 1);
  waitpid(writer, nullptr, 0);
  require_error(error, ExitCode::file, {"busy.h5", "another program", "HDF5_USE_FILE_LOCKING=FALSE"});
}

TEST_CASE("equal HDF5 files have equal bytes, whenever they are written", "[hdf5]") {
  const TemporaryFolder folder;
  setenv("SOURCE_DATE_EPOCH", "1700000000", 1);
  const auto write = [&](const std::string& name) {
    hdf5::write_atomically(folder.path() / name, [](hdf5::File& file) {
      hdf5::write_header(file, {.format = "attn.test", .command_line = "x", .seed = 3});
      file.create_group("a/b");
      auto position = file.write("position", std::vector<std::int64_t>{0, 1});
      position.make_scale("position");
      file.write("a/values", ramp(100), {2, 50}, hdf5::Storage::compressed()).attach_scale(0, position);
      file.write_strings("a/text", std::vector<std::string>{"x", "y"});
    });
    return attn::read_file(folder.path() / name);
  };
  const std::string first = write("first.h5");
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  CHECK(write("second.h5") == first);
  CHECK(hdf5::File::open(folder.path() / "first.h5").string_attribute("created_utc") ==
        "2023-11-14T22:13:20Z");
  setenv("SOURCE_DATE_EPOCH", "soon", 1);
  require_error(error_of([&] { (void)write("third.h5"); }), ExitCode::usage, {"SOURCE_DATE_EPOCH", "soon"});
  unsetenv("SOURCE_DATE_EPOCH");
}

TEST_CASE("a file of another format, a newer version or without its end mark is refused", "[hdf5]") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "model.h5";
  hdf5::write_atomically(path, [](hdf5::File& file) {
    hdf5::write_header(file, {.format = "attn.checkpoint", .format_version = 2, .backend = "eigen"});
  });
  const auto file = hdf5::open_checked(path, "attn.checkpoint", 2);
  CHECK(file.string_attribute("backend") == "eigen");
  CHECK(file.attribute<std::uint8_t>("complete") == 1);
  CHECK_FALSE(file.has_attribute("device"));
  require_error(error_of([&] { (void)hdf5::open_checked(path, "attn.attention", 2); }), ExitCode::input_data,
                {"model.h5", "attn.checkpoint", "attn.attention"});
  require_error(error_of([&] { (void)hdf5::open_checked(path, "attn.checkpoint", 1); }), ExitCode::input_data,
                {"version 2", "up to version 1"});
  const fs::path cut = folder.path() / "cut.h5";
  {
    auto unfinished = hdf5::File::create(cut);
    hdf5::write_header(unfinished, {.format = "attn.checkpoint"});
    unfinished.close();
  }
  require_error(error_of([&] { (void)hdf5::open_checked(cut, "attn.checkpoint", 1); }), ExitCode::input_data,
                {"cut.h5", "still being written or was interrupted"});
  require_error(
      error_of([&] { (void)hdf5::open_checked(ATTN_TEST_DATA "/golden/golden.h5", "attn.checkpoint", 1); }),
      ExitCode::input_data, {"golden.h5", "'format'"});
}

TEST_CASE("a writer that throws leaves the old file as it was", "[hdf5]") {
  const TemporaryFolder folder;
  const fs::path path = folder.write("kept.h5", "old");
  CHECK_THROWS_AS(hdf5::write_atomically(path,
                                         [](hdf5::File& file) {
                                           file.write("x", ramp(3));
                                           throw std::runtime_error("stop");
                                         }),
                  std::runtime_error);
  CHECK(attn::read_file(path) == "old");
  CHECK_FALSE(fs::exists(path.string() + ".part"));
}

TEST_CASE("the golden file is read by case", "[hdf5]") {
  const attn::test::GoldenCase golden("bleu_d2l");
  CHECK(golden.shape("bleu") == std::vector<std::int64_t>{15});
  CHECK(golden.values("bleu").size() == 15);
  CHECK(golden.integers("k").size() == 15);
  CHECK(golden.has("pred_0"));
  CHECK_FALSE(golden.has("pred_99"));
  CHECK_FALSE(golden.string("pred_0").empty());
  CHECK(golden.number("num_pairs") == 15);
  CHECK(golden.datasets() == std::vector<std::string>{"bleu", "k", "precisions"});
}

TEST_CASE("half precision holds the nearest number, also just below a power of two") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "half.h5";
  const std::vector<float> values = {0.0F,     1.0F,     0.99998F, 0.49999F,   -1.5F,    65504.0F, 65519.0F,
                                     65520.0F, 1.0F / 3, 0x1p-24F, 0x1.8p-25F, 0x1p-25F, 0x1p-14F, 2049.0F};
  const std::vector<float> expected = {0.0F,     1.0F,        1.0F,     0.5F,     -1.5F, 65504.0F, 65504.0F,
                                       INFINITY, 0x1.554p-2F, 0x1p-24F, 0x1p-24F, 0.0F,  0x1p-14F, 2048.0F};
  hdf5::write_atomically(path, [&](hdf5::File& file) {
    hdf5::Storage storage = hdf5::Storage::compressed();
    storage.extendable = true;
    hdf5::Dataset dataset = file.create_half_dataset("/half", {0}, storage);
    dataset.append(std::span(values));
    CHECK(dataset.type() == "f16");
    file.create_half_dataset("/written", {values.size()}).write(std::span(values));
  });
  const hdf5::File file = hdf5::File::open(path);
  CHECK(file.read<float>("/half") == expected);
  CHECK(file.read<float>("/written") == expected);
}

TEST_CASE("single texts of a dataset can be read") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "texts.h5";
  hdf5::write_atomically(path, [&](hdf5::File& file) {
    file.write_strings("/texts", std::vector<std::string>{"a", "", "\u4f60\u597d", "d"});
  });
  const hdf5::File file = hdf5::File::open(path);
  CHECK(file.dataset("/texts").read_string_rows(1, 2) == std::vector<std::string>{"", "\u4f60\u597d"});
  require_error(error_of([&] { file.dataset("/texts").read_string_rows(3, 2); }), ExitCode::input_data,
                {"/texts", "expected strings 3 to 5"});
}
