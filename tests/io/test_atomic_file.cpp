#include <sys/stat.h>
#include <unistd.h>

#include "attn/io/atomic_file.h"
#include "support/catch.h"
#include "support/error_of.h"
#include "support/text_files.h"

using attn::AtomicFile;
using attn::ExitCode;
using attn::test::contains;
using attn::test::error_of;
using attn::test::TemporaryFolder;
namespace fs = std::filesystem;

TEST_CASE("an output file appears whole and only when committed", "[file]") {
  const TemporaryFolder folder;
  const fs::path path = folder.write("out.txt", "old");
  const std::string big(300000, 'x');
  {
    AtomicFile file(path);
    file.write(big);
    file.write("end\n");
    CHECK(attn::read_file(path) == "old");
    CHECK(fs::exists(folder.path() / "out.txt.part"));
    file.commit();
  }
  CHECK(attn::read_file(path) == big + "end\n");
  CHECK_FALSE(fs::exists(folder.path() / "out.txt.part"));
}

TEST_CASE("a part file that is kept can be continued after what counts of it", "[file]") {
  const TemporaryFolder folder;
  const fs::path path = folder.write("out.txt", "old"), part = folder.path() / "out.txt.part";
  CHECK(attn::PartFile::name_for(path) == part);
  {
    AtomicFile file(path);
    file.write("one\n");
    file.synchronise();
    CHECK(attn::read_file(part) == "one\n");
    file.write("tw");
    file.keep_part();
  }
  CHECK(attn::read_file(path) == "old");
  folder.write("out.txt.part", "one\ntw");
  {
    AtomicFile file(path, 4);
    file.write("two\n");
    CHECK(attn::read_file(path) == "old");
    file.commit();
  }
  CHECK(attn::read_file(path) == "one\ntwo\n");
  CHECK_FALSE(fs::exists(part));
}

TEST_CASE("an output file that is not committed leaves nothing", "[file]") {
  const TemporaryFolder folder;
  {
    AtomicFile file(folder.path() / "out.txt");
    file.write("half");
  }
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("a file that fails its verification is not put in place", "[file]") {
  const TemporaryFolder folder;
  const fs::path path = folder.write("out.txt", "old");
  {
    AtomicFile file(path);
    file.write("new");
    CHECK_THROWS_AS(file.commit([](const fs::path& part) {
      CHECK(attn::read_file(part) == "new");
      throw std::runtime_error("not as written");
    }),
                    std::runtime_error);
  }
  CHECK(attn::read_file(path) == "old");
  CHECK_FALSE(fs::exists(path.string() + ".part"));
}

TEST_CASE("output that cannot be written is a file error that names it", "[file]") {
  const TemporaryFolder folder;
  const auto message = [](const fs::path& path) {
    const auto error = error_of([&] { attn::write_file_atomically(path, "text"); });
    REQUIRE(error);
    CHECK(error->code() == ExitCode::file);
    CHECK(contains(error->what(), path.string()));
    return std::string(error->what());
  };
  CHECK(contains(message(folder.path() / "absent" / "x.txt"), "does not exist"));
  CHECK(contains(message(folder.path()), "folder"));
  CHECK(contains(message(folder.write("file", "") / "x.txt"), "cannot write"));
  CHECK(contains(message("/dev/full"), "No space left on device"));
  CHECK(contains(message("/proc/attn-test.txt"), "cannot write"));
}

TEST_CASE("a read-only folder is an error before anything is written", "[file]") {
  if (geteuid() == 0) {
    WARN("root may write everywhere; /proc stands for a read-only folder in the test above");
    return;
  }
  const TemporaryFolder folder;
  chmod(folder.path().c_str(), 0500);
  const auto error = error_of([&] { AtomicFile file(folder.path() / "x.txt"); });
  chmod(folder.path().c_str(), 0700);
  REQUIRE(error);
  CHECK(error->code() == ExitCode::file);
  CHECK(contains(error->what(), "Permission denied"));
}

TEST_CASE("a link is followed and permissions are kept", "[file]") {
  const TemporaryFolder folder;
  const fs::path path = folder.write("real.txt", "old");
  chmod(path.c_str(), 0640);
  fs::create_symlink("real.txt", folder.path() / "link.txt");
  attn::write_file_atomically(folder.path() / "link.txt", "new");
  CHECK(fs::is_symlink(folder.path() / "link.txt"));
  CHECK(attn::read_file(path) == "new");
  CHECK(fs::status(path).permissions() == static_cast<fs::perms>(0640));
}

TEST_CASE("a device is written directly and stays a device", "[file]") {
  attn::write_file_atomically("/dev/null", "text");
  CHECK(fs::is_character_file("/dev/null"));
  CHECK_FALSE(fs::exists("/dev/null.part"));
}
