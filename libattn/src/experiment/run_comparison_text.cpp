#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "attn/experiment/run_comparison.h"
#include "attn/experiment/text_table.h"

namespace attn {
namespace {

using Json = nlohmann::ordered_json;

int decimals_of(std::string_view metric, bool is_mean) {
  if (metric == "best_epoch" || metric == "epochs" || metric == "updates") return is_mean ? 1 : 0;
  if (metric == "tokens_per_second") return 0;
  if (metric.ends_with("book_bleu")) return 3;
  for (const std::string_view of_100 : {"bleu", "chrf", "ter"}) {
    if (metric.find(of_100) != std::string_view::npos) return 2;
  }
  return 4;
}

std::string for_people(const std::string& metric, const Statistic& statistic) {
  const int decimals = decimals_of(metric, statistic.count > 1);
  std::string text = fmt::format("{:.{}f}", statistic.mean, decimals);
  if (statistic.deviation) text += fmt::format(" ± {:.{}f}", *statistic.deviation, decimals);
  return text;
}

const Statistic* find(const ComparedRow& row, const std::string& metric) {
  const auto found = row.metrics.find(metric);
  return found == row.metrics.end() ? nullptr : &found->second;
}

TextTable table_for_people(const RunComparison& comparison) {
  TextTable table;
  const auto column = [&](const std::string& name, bool numeric) {
    table.header.push_back(name);
    table.numeric.push_back(numeric);
  };
  column("run", false);
  for (const std::string& key : comparison.keys) column(key, false);
  if (comparison.over_seeds) column("n", true);
  for (const std::string& metric : comparison.metrics) column(metric, true);
  column("state", false);
  for (const ComparedRow& row : comparison.rows) {
    std::vector<std::string>& cells = table.rows.emplace_back(std::vector<std::string>{row.name});
    cells.insert(cells.end(), row.keys.begin(), row.keys.end());
    if (comparison.over_seeds) cells.push_back(fmt::format("{}", row.counted));
    for (const std::string& metric : comparison.metrics) {
      const Statistic* statistic = find(row, metric);
      cells.push_back(statistic == nullptr ? "" : for_people(metric, *statistic));
    }
    cells.push_back(row.state);
  }
  return table;
}

std::string remarks(const RunComparison& comparison, std::string_view before) {
  std::string text;
  for (const ComparedRow& row : comparison.rows) {
    if (row.message.empty()) continue;
    const bool several = row.members.size() > 1;
    text += several ? fmt::format("{}{}\n", before, row.message)
                    : fmt::format("{}{}: {}: {}\n", before, row.name, row.state, row.message);
  }
  return text;
}

std::string exactly(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "";
}

Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json metrics_json(const ComparedRow& row, bool groups) {
  Json metrics = Json::object();
  for (const auto& [name, statistic] : row.metrics) {
    if (groups) {
      metrics[name] = {{"mean", number(statistic.mean)},
                       {"sd", statistic.deviation ? number(*statistic.deviation) : Json(nullptr)},
                       {"n", statistic.count}};
    } else {
      metrics[name] = number(statistic.mean);
    }
  }
  return metrics;
}

}  // namespace

std::string to_text(const RunComparison& comparison) {
  const std::string below = remarks(comparison, "");
  return to_aligned(table_for_people(comparison)) + (below.empty() ? "" : "\n" + below);
}

std::string to_markdown(const RunComparison& comparison) {
  const std::string below = remarks(comparison, "- ");
  return to_markdown(table_for_people(comparison)) + (below.empty() ? "" : "\n" + below);
}

std::string to_csv(const RunComparison& comparison) {
  TextTable table;
  table.header = {"run"};
  table.header.insert(table.header.end(), comparison.keys.begin(), comparison.keys.end());
  if (comparison.over_seeds) table.header.emplace_back("n");
  for (const std::string& metric : comparison.metrics) {
    table.header.push_back(comparison.over_seeds ? metric + "_mean" : metric);
    if (comparison.over_seeds) table.header.push_back(metric + "_sd");
  }
  table.header.insert(table.header.end(), {"state", "message"});
  for (const ComparedRow& row : comparison.rows) {
    std::vector<std::string>& cells = table.rows.emplace_back(std::vector<std::string>{row.name});
    cells.insert(cells.end(), row.keys.begin(), row.keys.end());
    if (comparison.over_seeds) cells.push_back(fmt::format("{}", row.counted));
    for (const std::string& metric : comparison.metrics) {
      const Statistic* found = find(row, metric);
      cells.push_back(found == nullptr ? "" : exactly(found->mean));
      if (comparison.over_seeds)
        cells.push_back(found == nullptr || !found->deviation ? "" : exactly(*found->deviation));
    }
    cells.push_back(row.state);
    cells.push_back(row.message);
  }
  return to_csv(table);
}

std::string to_json(const RunComparison& comparison, std::span<const RunHistory> runs) {
  Json json{{"keys", comparison.keys}};
  Json& rows = json[comparison.over_seeds ? "groups" : "runs"] = Json::array();
  for (const ComparedRow& row : comparison.rows) {
    Json entry{{"name", row.name}};
    if (comparison.over_seeds) {
      entry["run_directories"] = Json::array();
      for (const std::size_t member : row.members)
        entry["run_directories"].push_back(runs[member].folder.string());
      entry["n"] = row.counted;
    } else {
      entry["run_directory"] = runs[row.members.front()].folder.string();
    }
    entry["state"] = row.state;
    if (!row.message.empty()) entry["message"] = row.message;
    entry["keys"] = Json::object();
    for (std::size_t i = 0; i < comparison.keys.size(); ++i) entry["keys"][comparison.keys[i]] = row.keys[i];
    entry["metrics"] = metrics_json(row, comparison.over_seeds);
    rows.push_back(std::move(entry));
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace attn
