#include "attn/experiment/run_comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <set>
#include <string_view>

#include "attn/core/error.h"

namespace attn {
namespace {

namespace fs = std::filesystem;

bool is_place(const std::string& key) {
  return key == "name" || key == "run_root";
}

std::string value_of(const RunHistory& run, const std::string& key) {
  const auto found = run.keys.find(key);
  return found == run.keys.end() ? "" : found->second;
}

// A key that a run lacks, since an earlier version wrote it, is no difference.
std::vector<std::string> differing_keys(std::span<const RunHistory> runs) {
  std::map<std::string, std::set<std::string>> values;
  for (const RunHistory& run : runs) {
    for (const auto& [key, value] : run.keys) values[key].insert(value);
  }
  std::vector<std::string> differing;
  for (const auto& [key, found] : values) {
    if (found.size() > 1 && !is_place(key)) differing.push_back(key);
  }
  // Last, as people sort.
  std::stable_partition(differing.begin(), differing.end(),
                        [](const std::string& key) { return key != "seed"; });
  return differing;
}

/// Folders without what they have in common: "learning_rate=0.001,seed=1".
std::vector<std::string> short_names(std::span<const RunHistory> runs) {
  std::vector<fs::path> folders;
  for (const RunHistory& run : runs) {
    fs::path folder = fs::absolute(run.folder).lexically_normal();
    folders.push_back(folder.has_filename() ? folder : folder.parent_path());
  }
  if (folders.empty()) return {};
  fs::path common = folders.front().parent_path();
  for (const fs::path& folder : folders) {
    while (common.has_relative_path() && *folder.lexically_relative(common).begin() == "..")
      common = common.parent_path();
  }
  std::vector<std::string> names;
  names.reserve(folders.size());
  for (const fs::path& folder : folders) names.push_back(folder.lexically_relative(common).string());
  return names;
}

/// A name without its part about the seed, as the runs of a sweep have it.
std::string without_seed(std::string name) {
  const std::size_t folder = name.rfind('/') == std::string::npos ? 0 : name.rfind('/') + 1;
  std::size_t begin = name.find("seed=", folder);
  if (begin == std::string::npos || (begin > folder && name[begin - 1] != ',')) return name;
  std::size_t end = std::min(name.find(',', begin), name.size());
  if (begin > folder) {
    --begin;
  } else if (end < name.size()) {
    ++end;
  }
  name.erase(begin, end - begin);
  return name;
}

void add_metrics(ComparedRow& row, std::span<const RunHistory> runs, bool only_done) {
  std::map<std::string, std::vector<double>> values;
  for (const std::size_t member : row.members) {
    if (only_done && !is_done(runs[member].status.state)) continue;
    ++row.counted;
    for (const auto& [name, value] : runs[member].metrics) values[name].push_back(value);
  }
  for (const auto& [name, list] : values) row.metrics[name] = statistic_of(list);
}

void add_states(ComparedRow& row, std::span<const RunHistory> runs, const std::vector<std::string>& names) {
  std::map<RunState, int> states;
  for (const std::size_t member : row.members) {
    const RunStatus& status = runs[member].status;
    ++states[status.state];
    if (status.message.empty()) continue;
    if (row.members.size() > 1) row.message += (row.message.empty() ? "" : "; ") + names[member] + ": ";
    row.message += status.message;
  }
  if (row.members.size() == 1) {
    row.state = name_of(states.begin()->first);
    return;
  }
  for (const auto& [state, count] : states)
    row.state += fmt::format("{}{} {}", row.state.empty() ? "" : ", ", count, name_of(state));
}

std::vector<std::string> shown_metrics(const std::vector<ComparedRow>& rows,
                                       std::span<const RunHistory> runs) {
  std::set<std::string> there, chosen;
  for (const ComparedRow& row : rows) {
    for (const auto& [name, value] : row.metrics) there.insert(name);
  }
  for (const RunHistory& run : runs) chosen.insert("valid_" + value_of(run, "validation.metric"));
  std::vector<std::string> shown;
  const auto show = [&](const std::string& name) {
    if (there.contains(name)) shown.push_back(name);
  };
  const std::set<std::string> minor{"valid_perplexity", "valid_book_bleu", "test_book_bleu"};
  for (const char* prefix : {"valid_", "test_"}) {
    for (const std::string& name : there) {
      if (name.starts_with(prefix) && (!minor.contains(name) || chosen.contains(name))) shown.push_back(name);
    }
    if (std::string_view(prefix) == "valid_") show("best_epoch");
  }
  for (const char* name : {"loss", "epochs", "tokens_per_second"}) show(name);
  return shown;
}

/// A key's value as a number, if all of it is one.
std::optional<double> number_in(const std::string& text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

Statistic statistic_of(const std::vector<double>& values) {
  Statistic statistic{.mean = 0.0, .deviation = {}, .count = values.size()};
  for (const double value : values) statistic.mean += value / static_cast<double>(values.size());
  if (values.size() < 2) return statistic;
  double squares = 0.0;
  for (const double value : values) squares += (value - statistic.mean) * (value - statistic.mean);
  statistic.deviation = std::sqrt(squares / static_cast<double>(values.size() - 1));
  return statistic;
}

RunComparison compare_runs(std::span<const RunHistory> runs, std::optional<bool> over_seeds) {
  RunComparison comparison;
  comparison.keys = differing_keys(runs);
  comparison.over_seeds =
      over_seeds.value_or(runs.size() > 1 && comparison.keys == std::vector<std::string>{"seed"});
  if (comparison.over_seeds) std::erase(comparison.keys, "seed");
  const std::vector<std::string> names = short_names(runs);
  // Runs whose configuration cannot be read belong to no group.
  std::map<std::vector<std::string>, std::size_t> groups;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::vector<std::string> keys;
    for (const std::string& key : comparison.keys) keys.push_back(value_of(runs[i], key));
    const bool joins = comparison.over_seeds && !runs[i].keys.empty();
    if (const auto group = groups.find(keys); joins && group != groups.end()) {
      comparison.rows[group->second].members.push_back(i);
      continue;
    }
    if (joins) groups[keys] = comparison.rows.size();
    ComparedRow& row = comparison.rows.emplace_back();
    row.name = names[i];
    row.keys = std::move(keys);
    row.members.push_back(i);
  }
  for (ComparedRow& row : comparison.rows) {
    const std::string shorter = without_seed(row.name);
    if (row.members.size() > 1)
      row.name =
          shorter.empty() ? runs[row.members.front()].folder.parent_path().filename().string() : shorter;
    add_metrics(row, runs, comparison.over_seeds);
    add_states(row, runs, names);
  }
  comparison.metrics = shown_metrics(comparison.rows, runs);
  std::stable_sort(comparison.rows.begin(), comparison.rows.end(),
                   [](const ComparedRow& a, const ComparedRow& b) { return natural_less(a.name, b.name); });
  return comparison;
}

void sort_rows(RunComparison& comparison, const std::string& by) {
  const auto key = std::find(comparison.keys.begin(), comparison.keys.end(), by);
  const auto column = static_cast<std::size_t>(key - comparison.keys.begin());
  const bool is_key = key != comparison.keys.end();
  const bool larger_first = !is_key && larger_is_better(by);
  std::set<std::string> there(comparison.keys.begin(), comparison.keys.end());
  for (const ComparedRow& row : comparison.rows) {
    for (const auto& [name, value] : row.metrics) there.insert(name);
  }
  if (!there.contains(by)) {
    fail(ExitCode::usage, "--sort-by: no run has '{}'; there are {}", by, fmt::join(there, ", "));
  }
  const auto value_in = [&](const ComparedRow& row) -> std::optional<double> {
    if (is_key) return number_in(row.keys[column]);
    const auto found = row.metrics.find(by);
    if (found == row.metrics.end() || std::isnan(found->second.mean)) return std::nullopt;
    return found->second.mean;
  };
  std::stable_sort(comparison.rows.begin(), comparison.rows.end(),
                   [&](const ComparedRow& a, const ComparedRow& b) {
                     const auto left = value_in(a), right = value_in(b);
                     if (left && right) return larger_first ? *left > *right : *left < *right;
                     if (left || right) return left.has_value();
                     return is_key && natural_less(a.keys[column], b.keys[column]);
                   });
}

}  // namespace attn
