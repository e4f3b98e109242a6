#include <cmath>

#include "attn/inspection/attention_archive.h"
#include "attn/inspection/attention_statistics.h"
#include "inspection/small_system.h"
#include "support/catch.h"
#include "support/error_of.h"
#include "support/text_files.h"

using namespace attn;
using namespace attn::test;

TEST_CASE("entropy is 0 for a row on one key and ln(n) for a uniform one") {
  CHECK(row_entropy(std::vector<float>{0, 1, 0}) == 0.0);
  CHECK(row_entropy(std::vector<float>{0.25F, 0.25F, 0.25F, 0.25F}) == Approx(std::log(4.0)));
  CHECK(mean_entropy(std::vector<float>{0, 1, 0.5F, 0.5F}, 2, 2) == Approx(std::log(2.0) / 2));
  CHECK(std::isnan(mean_entropy({}, 0, 3)));
}

TEST_CASE("a kind or sentence that there is not is an error that names what there is") {
  const TemporaryFolder folder;
  dump(small_system(small_recurrent()), some_lines(), folder.path() / "a.h5");
  const AttentionArchive archive = AttentionArchive::open(folder.path() / "a.h5");
  CHECK(archive.info(AttentionKind::rnn_cross).score == "additive");
  CHECK(archive.origin().backend == "reference");
  const auto kind = error_of([&] { static_cast<void>(archive.block(AttentionKind::cross, 0)); });
  REQUIRE(kind);
  CHECK(contains(kind->what(), "no attention of kind cross; the archive has rnn_cross"));
  const auto sentence = error_of([&] { static_cast<void>(archive.sentence(6)); });
  REQUIRE(sentence);
  CHECK(contains(sentence->what(), "no sentence 6; the archive has 6"));
}

TEST_CASE("an archive that is being read can be replaced, and the reader keeps the old one") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a.h5";
  dump(small_system(small_recurrent()), some_lines(), path);
  const AttentionArchive archive = AttentionArchive::open(path);
  const auto before = archive.block(AttentionKind::rnn_cross, 3).weights;
  dump(small_system(small_recurrent()), {{"a"}}, path);
  CHECK(archive.block(AttentionKind::rnn_cross, 3).weights == before);
  CHECK(AttentionArchive::open(path).sentences() == 1);
}

TEST_CASE("nothing is left behind when a dump ends early") {
  const TemporaryFolder folder;
  AttentionDumpOptions options;
  options.between_batches = [] { fail(ExitCode::interrupted, "stop"); };
  const auto error =
      error_of([&] { dump(small_system(small_recurrent()), some_lines(), folder.path() / "a.h5", options); });
  REQUIRE(error);
  CHECK(std::filesystem::is_empty(folder.path()));
  const auto missing =
      error_of([&] { dump(small_system(small_recurrent()), some_lines(), folder.path() / "no/a.h5"); });
  REQUIRE(missing);
  CHECK(missing->code() == ExitCode::file);
}
