// What run directories say about their runs, and that each has one writer.
#include "attn/experiment/run_directory.h"
#include "attn/experiment/run_history.h"
#include "run_folders.h"
#include "support/catch.h"
#include "support/error_of.h"

namespace {

using namespace attn;
using namespace attn::test;
namespace fs = std::filesystem;

TEST_CASE("a run directory has one writer at a time", "[runs]") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  {
    const RunDirectory writer(run, RunDirectory::Mode::fresh);
    CHECK(RunLock::held(run));
    CHECK(run_status(run).state == RunState::running);
    for (const auto mode : {RunDirectory::Mode::fresh, RunDirectory::Mode::force}) {
      const auto error = error_of([&] { const RunDirectory second(run, mode); });
      REQUIRE(error);
      CHECK(error->code() == ExitCode::file);
      CHECK(contains(error->what(), "in use by another attn-train"));
    }
  }
  CHECK_FALSE(RunLock::held(run));
  CHECK_FALSE(error_of([&] { const RunDirectory again(run, RunDirectory::Mode::force); }));
}

TEST_CASE("a folder with a lock alone counts as empty", "[runs]") {
  const TemporaryFolder folder;
  folder.write(RunLock::file_name, "");
  CHECK(run_status(folder.path()).state == RunState::fresh);
  CHECK_FALSE(error_of([&] { const RunDirectory run(folder.path(), RunDirectory::Mode::fresh); }));
}

TEST_CASE("the state of a run is what its folder says", "[runs]") {
  const TemporaryFolder folder;
  CHECK(run_status(folder.path() / "none").state == RunState::fresh);
  for (const auto& [text, state] :
       {std::pair{"finished", RunState::finished}, std::pair{"stopped early", RunState::stopped_early},
        std::pair{"interrupted", RunState::interrupted},
        std::pair{"running", RunState::interrupted},  // killed: nobody holds its lock
        std::pair{"dancing", RunState::damaged}}) {
    INFO(text);
    CHECK(run_status(make_run(folder, text, "", text)).state == state);
  }
  CHECK(contains(run_status(folder.path() / "running").message, "killed"));
  CHECK(run_status(make_run(folder, "without", "", "")).state == RunState::damaged);
  folder.write("without/status.json", "{\"state\": \"fin");
  CHECK(run_status(folder.path() / "without").state == RunState::damaged);
}

TEST_CASE("a failure without a run directory is recorded, and never over a run", "[runs]") {
  const TemporaryFolder folder;
  record_failure(folder.path() / "new", "new", "the data are missing");
  CHECK(run_status(folder.path() / "new").state == RunState::failed);
  CHECK(run_status(folder.path() / "new").message == "the data are missing");
  const fs::path done = make_run(folder, "done", "", "finished");
  record_failure(done, "done", "never");
  CHECK(run_status(done).state == RunState::finished);
}

TEST_CASE("the figures of a run are those of its best epoch by its own metric", "[runs]") {
  const TemporaryFolder folder;
  const std::string metrics = epoch(1, 3, 2.5, 10) + epoch(2, 2, 2.0, 12) + epoch(3, 1, 2.2, 14);
  const std::string report =
      R"({"epochs": 3, "updates": 30, "loss": 1, "test": {"bleu": 11.5, "signature": "s"}})";
  const RunHistory by_loss =
      read_run(make_run(folder, "loss", "validation:\n  metric: loss\n", "finished", metrics, report));
  CHECK(by_loss.metrics.at("best_epoch") == 2);
  CHECK(by_loss.metrics.at("valid_loss") == 2.0);
  CHECK(by_loss.metrics.at("valid_bleu") == 12);
  CHECK(by_loss.metrics.at("loss") == 1);
  CHECK(by_loss.metrics.at("test_bleu") == 11.5);
  CHECK(by_loss.metrics.at("tokens_per_second") == 2000);
  const RunHistory by_bleu =
      read_run(make_run(folder, "bleu", "validation:\n  metric: bleu\n", "finished", metrics));
  CHECK(by_bleu.metrics.at("best_epoch") == 3);
  CHECK(by_bleu.metrics.count("test_bleu") == 0);
  const std::optional<RunSummary> stored = read_report(by_loss.folder);
  REQUIRE(stored);
  CHECK(stored->progress.update == 30);
  CHECK(stored->test->bleu == 11.5);
  CHECK_FALSE(read_report(by_bleu.folder));
}

TEST_CASE("everything that report.json holds is read again", "[runs]") {
  const TemporaryFolder folder;
  const std::string report = R"({"epochs": 3, "updates": 30, "loss": 1.5, "book_loss": 0.25,
    "tokens_per_second": 700, "checkpoint": "average.h5", "split_batches": 2, "skipped_sentences": 1,
    "average": {"members": ["a.h5", "b.h5"], "metric": "bleu", "averaged": 21.5, "other": "best.h5",
                "other_value": 20.5, "better": true},
    "test": {"bleu": 11.5, "book_bleu": 0.5, "signature": "s", "chrf": 40.25},
    "samples": [{"source": "x", "translation": "y", "reference": "z", "book_bleu": 0.75}]})";
  const std::optional<RunSummary> stored =
      read_report(make_run(folder, "run", "", "stopped early", "", report));
  REQUIRE(stored);
  CHECK(stored->outcome == Trainer::Outcome::stopped_early);
  CHECK(stored->loss == 1.5);
  CHECK(stored->book_loss == 0.25);
  CHECK(stored->tokens_per_second == 700);
  CHECK(stored->checkpoint == "average.h5");
  CHECK(stored->progress.split_batches == 2);
  CHECK(stored->progress.skipped_sentences == 1);
  REQUIRE(stored->averaged);
  CHECK(stored->averaged->members == std::vector<std::string>{"a.h5", "b.h5"});
  CHECK(stored->averaged->metric == "bleu");
  CHECK(stored->averaged->averaged == 21.5);
  CHECK(stored->averaged->other_name == "best.h5");
  CHECK(stored->averaged->other == 20.5);
  CHECK(stored->averaged->better);
  REQUIRE(stored->test);
  CHECK(stored->test->chrf == 40.25);
  CHECK_FALSE(stored->training);
  REQUIRE(stored->samples.size() == 1);
  CHECK(stored->samples[0].book_bleu == 0.75);
}

TEST_CASE("a damaged part of a run leaves the others readable", "[runs]") {
  const TemporaryFolder folder;
  const std::string cut = epoch(1, 3, 2.5, 10) + R"({"epoch":2,"lo)";
  const RunHistory killed = read_run(make_run(folder, "killed", "seed: 1\n", "running", cut));
  CHECK(killed.status.state == RunState::interrupted);
  CHECK(contains(killed.status.message, "1 damaged line"));
  CHECK(killed.epochs.size() == 1);
  CHECK(killed.keys.at("seed") == "1");
  const RunHistory broken =
      read_run(make_run(folder, "broken", "seed: [1\n", "finished", epoch(1, 3, 2.5, 10), "{"));
  CHECK(broken.status.state == RunState::damaged);
  CHECK(broken.metrics.at("loss") == 3);
}

TEST_CASE("runs are found below folders, in the order of their numbers, once", "[runs]") {
  const TemporaryFolder folder;
  for (const char* name : {"a/seed=10", "a/seed=2", "b/c/seed=1"}) make_run(folder, name, "", "finished");
  folder.write("a/seed=2.log", "no folder");
  fs::create_directory_symlink(folder.path(), folder.path() / "b" / "up");
  const std::vector<fs::path> found = find_runs({folder.path() / "a/seed=2", folder.path()});
  REQUIRE(found.size() == 3);
  CHECK(found[0] == folder.path() / "a/seed=2");
  CHECK(found[1] == folder.path() / "a/seed=10");
  CHECK(found[2] == folder.path() / "b/c/seed=1");
  CHECK(find_runs({folder.path() / "a/seed=2.log"}).empty());
  const auto error = error_of([&] { (void)find_runs({folder.path() / "nowhere"}); });
  REQUIRE(error);
  CHECK(error->code() == ExitCode::file);
}

TEST_CASE("larger is better, but for losses, perplexities and TER", "[runs]") {
  for (const char* metric : {"valid_bleu", "valid_chrf", "tokens_per_second", "test_bleu"})
    CHECK(larger_is_better(metric));
  for (const char* metric : {"loss", "valid_loss", "valid_perplexity", "test_ter", "book_loss"})
    CHECK_FALSE(larger_is_better(metric));
}

}  // namespace
