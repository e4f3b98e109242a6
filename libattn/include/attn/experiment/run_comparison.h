#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attn/experiment/run_history.h"

namespace attn {

/// Mean and spread of a metric over runs.
struct Statistic {
  double mean = 0.0;
  std::optional<double> deviation;  ///< of the sample (divided by count - 1); nothing for one run
  std::size_t count = 0;
};
Statistic statistic_of(const std::vector<double>& values);

/// A run, or the runs that differ in their seed alone.
struct ComparedRow {
  std::string name;  ///< of its folder, as far as the folders differ
  std::string state;
  std::string message;            ///< why it failed, what is damaged; of several runs all reasons
  std::vector<std::string> keys;  ///< the values of RunComparison::keys, in that order; empty: has none
  std::map<std::string, Statistic, std::less<>> metrics;
  std::vector<std::size_t> members;  ///< which runs, by their place among those compared
  std::size_t counted = 0;           ///< how many of them the metrics are of
};

/// Runs side by side: what differs between them, and what came out.
struct RunComparison {
  bool over_seeds = false;           ///< whether rows are groups of runs
  std::vector<std::string> keys;     ///< the configuration keys that differ, apart from name and run_root
  std::vector<std::string> metrics;  ///< the columns worth showing; rows have more
  std::vector<ComparedRow> rows;     ///< in the order of their names, numbers by value
};

/// Compares runs. `over_seeds` joins runs that differ in their seed alone: metrics are then of those that are
/// done. Without a wish that happens where nothing else differs.
RunComparison compare_runs(std::span<const RunHistory> runs, std::optional<bool> over_seeds = {});

/// Sorts rows by a metric, the best first, or by a differing key; rows without it come last. Throws Error
/// (usage) that lists what there is if no row has `by`.
void sort_rows(RunComparison& comparison, const std::string& by);

/// The comparison as a table for people, below it why runs failed or are damaged.
std::string to_text(const RunComparison& comparison);
std::string to_markdown(const RunComparison& comparison);
/// With full precision; of groups each metric has the columns METRIC_mean and METRIC_sd.
std::string to_csv(const RunComparison& comparison);
/// One object: "keys" and "runs", or "groups" whose metrics are objects of mean, sd and n. All metrics.
std::string to_json(const RunComparison& comparison, std::span<const RunHistory> runs);

}  // namespace attn
