// Runs side by side: what differs, statistics over seeds, formats, and learning curves.
#include <cmath>
#include <nlohmann/json.hpp>

#include "attn/experiment/learning_curves.h"
#include "attn/experiment/run_comparison.h"
#include "attn/experiment/text_table.h"
#include "run_folders.h"
#include "support/catch.h"
#include "support/error_of.h"

namespace {

using namespace attn;
using namespace attn::test;

using Names = std::vector<std::string>;

/// Two learning rates with seeds 1, 2 and 10; the last run of the second rate failed.
std::vector<RunHistory> grid(const TemporaryFolder& folder) {
  std::vector<RunHistory> runs;
  for (const char* rate : {"0.001", "0.01"}) {
    for (const int seed : {1, 2, 10}) {
      const bool failed = seed == 10 && std::string(rate) == "0.01";
      const double loss = (std::string(rate) == "0.01" ? 2.0 : 1.0) + 0.1 * seed;
      runs.push_back(read_run(make_run(
          folder, fmt::format("learning_rate={},seed={}", rate, seed),
          fmt::format("seed: {}\nrun_root: /somewhere/{}\ntraining:\n  learning_rate: {}\n  epochs: 2\n",
                      seed, seed, rate),
          failed ? "failed" : "finished", epoch(1, 3, 3, 1) + epoch(2, loss, loss, 10 * loss))));
      if (failed) runs.back().status.message = "the disk is full";
    }
  }
  return runs;
}

TEST_CASE("only keys that differ are compared, in rows ordered by number", "[runs]") {
  const TemporaryFolder folder;
  std::vector<RunHistory> runs = grid(folder);
  std::swap(runs[1], runs[2]);
  const RunComparison comparison = compare_runs(runs);
  CHECK_FALSE(comparison.over_seeds);
  CHECK(comparison.keys == Names{"training.learning_rate", "seed"});
  CHECK(comparison.metrics ==
        Names{"valid_bleu", "valid_loss", "best_epoch", "loss", "epochs", "tokens_per_second"});
  REQUIRE(comparison.rows.size() == 6);
  CHECK(comparison.rows[1].name == "learning_rate=0.001,seed=2");
  CHECK(comparison.rows[1].keys == Names{"0.001", "2"});
  CHECK(comparison.rows[2].keys == Names{"0.001", "10"});
  CHECK(comparison.rows[2].members == std::vector<std::size_t>{1});
  CHECK(comparison.rows[5].state == "failed");
  CHECK(contains(to_text(comparison), "learning_rate=0.01,seed=10: failed: the disk is full"));
}

TEST_CASE("a key that some runs lack is compared among the others", "[runs]") {
  const TemporaryFolder folder;
  std::vector<RunHistory> runs;
  for (const char* settings :
       {"seed: 1\n", "seed: 1\nnew: a\n", "seed: 1\nnew: a\nnewer: x\n", "seed: 1\nnewer: y\n"})
    runs.push_back(read_run(make_run(folder, fmt::format("run-{}", runs.size()), settings, "finished")));
  CHECK(compare_runs(runs).keys == Names{"newer"});
  CHECK(compare_runs(runs).rows[0].keys == Names{""});
}

TEST_CASE("over seeds: mean and standard deviation of the sample, of finished runs", "[runs]") {
  const TemporaryFolder folder;
  const std::vector<RunHistory> runs = grid(folder);
  const RunComparison comparison = compare_runs(runs, true);
  CHECK(comparison.keys == Names{"training.learning_rate"});
  REQUIRE(comparison.rows.size() == 2);
  CHECK(comparison.rows[0].name == "learning_rate=0.001");
  // 1.1, 1.2, 2.0
  const Statistic& three = comparison.rows[0].metrics.at("loss");
  CHECK(three.count == 3);
  CHECK(three.mean == Approx(4.3 / 3));
  CHECK(*three.deviation == Approx(0.493288));
  // 2.1, 2.2; the failed run does not count
  const Statistic& two = comparison.rows[1].metrics.at("loss");
  CHECK(two.count == 2);
  CHECK(two.mean == Approx(2.15));
  CHECK(*two.deviation == Approx(std::sqrt(0.005)));
  CHECK(comparison.rows[1].state == "2 finished, 1 failed");
  CHECK(contains(comparison.rows[1].message, "learning_rate=0.01,seed=10: the disk is full"));
  CHECK(contains(to_text(comparison), "1.4333 ± 0.4933"));
  const std::vector<RunHistory> one{runs[0]};
  CHECK_FALSE(compare_runs(one, true).rows[0].metrics.at("loss").deviation);
}

TEST_CASE("runs that differ in the seed alone are joined without being asked", "[runs]") {
  const TemporaryFolder folder;
  std::vector<RunHistory> runs = grid(folder);
  runs.resize(3);
  const RunComparison joined = compare_runs(runs);
  CHECK(joined.over_seeds);
  REQUIRE(joined.rows.size() == 1);
  CHECK(joined.rows[0].members.size() == 3);
  CHECK(compare_runs(runs, false).rows.size() == 3);
}

TEST_CASE("rows are sorted with the best first and those without a value last", "[runs]") {
  const TemporaryFolder folder;
  std::vector<RunHistory> runs = grid(folder);
  runs.push_back(read_run(make_run(folder, "a", "seed: 1\n", "running")));
  const auto first_and_last = [&](const std::string& by) {
    RunComparison comparison = compare_runs(runs);
    sort_rows(comparison, by);
    return Names{comparison.rows.front().name, comparison.rows.back().name};
  };
  CHECK(first_and_last("valid_loss") == Names{"learning_rate=0.001,seed=1", "a"});
  CHECK(first_and_last("valid_bleu") == Names{"learning_rate=0.01,seed=2", "a"});
  CHECK(first_and_last("training.learning_rate").back() == "a");
  const auto error = error_of([&] { (void)first_and_last("valid_blue"); });
  REQUIRE(error);
  CHECK(error->code() == ExitCode::usage);
  CHECK(contains(error->what(), "valid_bleu"));
}

TEST_CASE("a comparison as CSV and JSON has all digits", "[runs]") {
  const TemporaryFolder folder;
  const std::vector<RunHistory> runs = grid(folder);
  const std::string csv = to_csv(compare_runs(runs));
  CHECK(contains(csv,
                 "run,training.learning_rate,seed,valid_bleu,valid_loss,best_epoch,loss,epochs,tokens_per_"
                 "second,state,message\n"));
  CHECK(contains(csv, "\n\"learning_rate=0.001,seed=2\",0.001,2,12,1.2,2,1.2,2,2000,finished,\n"));
  CHECK(contains(to_csv(compare_runs(runs, true)), "valid_bleu_mean,valid_bleu_sd,"));
  const auto json = nlohmann::json::parse(to_json(compare_runs(runs, true), runs));
  CHECK(json["groups"][1]["metrics"]["loss"]["n"] == 2);
  CHECK(json["groups"][1]["run_directories"].size() == 3);
  CHECK(nlohmann::json::parse(to_json(compare_runs(runs), runs))["runs"][0]["keys"]["seed"] == "1");
}

TEST_CASE("tables escape what their format would take for more cells", "[runs]") {
  const TextTable table{
      .header = {"a", "b"}, .numeric = {false, true}, .rows = {{"x|y", "1"}, {"p,\"q\"", ""}, {"ä", "22"}}};
  CHECK(to_csv(table) == "a,b\nx|y,1\n\"p,\"\"q\"\"\",\nä,22\n");
  CHECK(to_markdown(table) == "| a | b |\n|---|---:|\n| x\\|y | 1 |\n| p,\"q\" |  |\n| ä | 22 |\n");
  CHECK(to_aligned(table) == "a       b\nx|y     1\np,\"q\"   -\nä      22\n");
}

TEST_CASE("learning curves have a line for each row, and a band over seeds", "[runs]") {
  const TemporaryFolder folder;
  const std::vector<RunHistory> runs = grid(folder);
  const LineChart all = learning_curves(compare_runs(runs), runs, "valid_loss");
  REQUIRE(all.series.size() == 6);
  CHECK(all.series[0].name == "learning_rate=0.001, seed=1");
  CHECK(all.series[0].y == std::vector<double>{3, 1.1});
  CHECK(all.series[0].low.empty());
  CHECK(all.y.logarithmic);
  const LineChart means = learning_curves(compare_runs(runs, true), runs, "valid_bleu");
  REQUIRE(means.series.size() == 2);
  CHECK(means.series[0].name == "learning_rate=0.001 (n = 3)");
  CHECK(means.series[0].y[1] == Approx(43.0 / 3));
  CHECK(means.series[0].high[1] - means.series[0].y[1] == Approx(4.93288));
  CHECK_FALSE(means.y.logarithmic);
  CHECK(contains(to_svg(means), "fill-opacity"));
  const auto error = error_of([&] { (void)learning_curves(compare_runs(runs), runs, "valid_ter"); });
  REQUIRE(error);
  CHECK(error->code() == ExitCode::usage);
  CHECK(contains(error->what(), "valid_bleu"));
  CHECK(usual_curve(runs) == "loss");  // these configurations name no metric of validation
}

}  // namespace
