#include "tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "attn/inspection/complexity_path.h"

namespace attn::compare {
namespace {

constexpr const char* none = "-";

std::string three_digits(double value) {
  const int decimals = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return fmt::format("{:.{}f}", value, decimals);
}

std::string duration(double seconds) {
  if (seconds < 1e-3) return three_digits(seconds * 1e6) + " us";
  if (seconds < 1) return three_digits(seconds * 1e3) + " ms";
  return three_digits(seconds) + " s";
}

std::string count_or_none(const std::optional<std::int64_t>& value) {
  return value ? std::to_string(*value) : "never";
}

std::string exponent(const std::optional<PowerLaw>& law) {
  if (!law) return none;
  if (!law->standard_error) return fmt::format("{:.2f}", law->exponent);
  return fmt::format("{:.2f} +/- {:.2f}", law->exponent, *law->standard_error);
}

auto group_of(const ComplexityCell& cell) {
  return std::tuple(cell.backend, cell.pass, cell.batch, cell.encoder.layers, cell.encoder.width);
}

std::string pass_words(Pass pass) {
  return pass == Pass::forward ? "forward" : "forward + backward";
}

std::string group_title(const ComplexityCell& cell) {
  return fmt::format("{}, {}: d = {}, batch {}, {} layer{}", cell.backend, pass_words(cell.pass),
                     cell.encoder.width, cell.batch, cell.encoder.layers,
                     cell.encoder.layers == 1 ? "" : "s");
}

std::vector<std::string> row_of(const ComplexityCell& cell) {
  std::vector<std::string> row{label_of(cell.encoder), std::to_string(cell.length)};
  row.push_back(with_prefix(cell.cost.flops) + (cell.counted ? "" : " *"));
  row.push_back(cell.counted ? with_prefix(cell.cost.bytes) : none);
  row.push_back(with_prefix(static_cast<double>(cell.cost.parameters)));
  row.push_back(cell.counted ? with_prefix(cell.cost.activation_bytes) : none);
  row.push_back(std::to_string(cell.sequential_operations));
  row.push_back(count_or_none(cell.path_length) + (cell.path_verified ? "" : " *"));
  if (!cell.timing) {
    row.insert(row.end(), {none, none, none, none, cell.skipped.empty() ? none : "skipped"});
    return row;
  }
  const ComplexityTiming& timing = *cell.timing;
  row.push_back(duration(timing.median));
  row.push_back(duration(timing.minimum) + " - " + duration(timing.maximum));
  row.push_back(fmt::format("{:.1f}", timing.gflops));
  row.push_back(fmt::format("{:.0f} %", timing.peak_share * 100));
  row.push_back(with_prefix(timing.peak_bytes));
  return row;
}

void add_notes(Table& table, const std::vector<const ComplexityCell*>& cells) {
  const auto any = [&cells](auto condition) {
    return std::any_of(cells.begin(), cells.end(),
                       [&](const ComplexityCell* cell) { return condition(*cell); });
  };
  if (any([](const ComplexityCell& cell) { return !cell.counted || !cell.path_verified; }))
    table.notes.emplace_back("* closed form, not counted or verified by a run");
  for (const ComplexityCell* cell : cells) {
    if (!cell->skipped.empty())
      table.notes.push_back(
          fmt::format("skipped: {} n={}: {}", label_of(cell->encoder), cell->length, cell->skipped));
  }
}

void add_cells(std::vector<Table>& tables, const ComplexityReport& report) {
  std::vector<const ComplexityCell*> group;
  const auto finish = [&] {
    if (group.empty()) return;
    Table& table = tables.emplace_back();
    table.title = group_title(*group.front());
    table.header = {"layer type",   "n",      "flops", "bytes",   "parameters", "activations", "sequential",
                    "longest path", "median", "range", "GFLOP/s", "of peak",    "memory"};
    for (const ComplexityCell* cell : group) table.rows.push_back(row_of(*cell));
    add_notes(table, group);
    group.clear();
  };
  for (const ComplexityCell& cell : report.cells) {
    if (!group.empty() && group_of(*group.front()) != group_of(cell)) finish();
    group.push_back(&cell);
  }
  finish();
}

void add_fits(std::vector<Table>& tables, const ComplexityReport& report) {
  for (const bool over_length : {true, false}) {
    Table table;
    table.title = over_length ? "Exponents in n: cost ~ n^a" : "Exponents in d: cost ~ d^b";
    table.left_columns = 3;
    table.header = {"layer type",     "backend",    "pass", over_length ? "d" : "n",
                    "textbook order", "sequential", "path", "textbook",
                    "flops",          "time",       "from"};
    for (const ComplexityFit& fit : report.fits) {
      if (fit.over_length != over_length) continue;
      const EncoderKind kind = fit.encoder.kind;
      table.rows.push_back({label_of(fit.encoder), fit.backend, pass_words(fit.pass),
                            std::to_string(over_length ? fit.encoder.width : fit.length),
                            std::string(textbook_orders(kind).text), std::string(textbook_sequential(kind)),
                            std::string(textbook_path(kind)), fmt::format("{:g}", fit.textbook),
                            exponent(fit.flops), exponent(fit.seconds),
                            fit.seconds ? fmt::format("{:.0f}", fit.seconds->first_x) : none});
    }
    if (!table.rows.empty()) tables.push_back(std::move(table));
  }
}

std::string crossing(const std::optional<Crossing>& found) {
  if (!found) return none;
  switch (found->kind) {
    case Crossing::Kind::below:
      return fmt::format("below {:.0f}", found->x);
    case Crossing::Kind::at:
      return fmt::format("{:.0f}", found->x);
    case Crossing::Kind::above:
      return fmt::format("above {:.0f}", found->x);
  }
  return none;
}

void add_crossovers(std::vector<Table>& tables, const ComplexityReport& report) {
  if (report.crossovers.empty()) return;
  Table table;
  table.title = "Crossover: the n from which on self-attention costs more";
  table.left_columns = 4;
  table.header = {"attention", "than", "backend", "pass", "d", "by order", "by flops", "by time"};
  for (const ComplexityCrossover& crossover : report.crossovers) {
    table.rows.push_back({label_of(crossover.attention), label_of(crossover.other), crossover.backend,
                          pass_words(crossover.pass), std::to_string(crossover.attention.width),
                          fmt::format("{:.0f}", crossover.by_order),
                          fmt::format("{:.0f}", crossover.by_count), crossing(crossover.by_time)});
  }
  table.notes.emplace_back(
      "by order: n = d for a recurrence, n = k d for a convolution; by flops: where the counts are equal");
  tables.push_back(std::move(table));
}

void add_operations(std::vector<Table>& tables, const ComplexityReport& report) {
  Table table;
  table.title = "Flops by operation, at the longest n that was counted";
  table.left_columns = 2;
  table.header = {"layer type", "operation", "n", "d", "uses", "flops", "share", "bytes"};
  for (std::size_t i = 0; i < report.cells.size(); ++i) {
    const ComplexityCell& cell = report.cells[i];
    const bool last = i + 1 == report.cells.size() || report.cells[i + 1].length <= cell.length ||
                      !report.cells[i + 1].counted;
    const bool earlier = i > 0 && !report.cells[i - 1].counted && report.cells[i - 1].length < cell.length;
    if (!cell.counted || !last || earlier) continue;
    for (const OperationCost& operation : cell.cost.operations) {
      if (operation.flops == 0) continue;
      table.rows.push_back(
          {label_of(cell.encoder), operation.name, std::to_string(cell.length),
           std::to_string(cell.encoder.width), std::to_string(operation.uses), with_prefix(operation.flops),
           fmt::format("{:.1f} %", 100 * operation.flops / cell.cost.flops), with_prefix(operation.bytes)});
    }
  }
  if (!table.rows.empty()) tables.push_back(std::move(table));
}

Table devices_of(const ComplexityReport& report) {
  Table table;
  table.title = "Backends";
  table.left_columns = 2;
  table.header = {"backend", "device", "threads", "matrix product, GFLOP/s"};
  for (const ComplexityDevice& device : report.devices) {
    table.rows.push_back({device.backend, device.device,
                          device.threads == 0 ? "all" : std::to_string(device.threads),
                          fmt::format("{:.1f}", device.peak_gflops)});
    for (const auto& [kind, lacking] : device.decomposed)
      table.notes.push_back(
          fmt::format("{} decomposes {} of {}", device.backend, fmt::join(lacking, ", "), kind));
  }
  return table;
}

std::vector<std::size_t> widths_of(const Table& table) {
  std::vector<std::size_t> widths;
  for (const std::string& name : table.header) widths.push_back(name.size());
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  return widths;
}

std::string cell_text(const std::string& text, std::size_t width, bool left) {
  return left ? fmt::format("{:<{}}", text, width) : fmt::format("{:>{}}", text, width);
}

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

std::string with_prefix(double value) {
  constexpr std::array prefixes{"", " k", " M", " G", " T", " P"};
  std::size_t prefix = 0;
  while (value >= 999.5 && prefix + 1 < prefixes.size()) {
    value /= 1000;
    ++prefix;
  }
  return (prefix == 0 ? fmt::format("{:.0f}", value) : three_digits(value)) + prefixes[prefix];
}

std::vector<Table> tables_of(const ComplexityReport& report) {
  std::vector<Table> tables{devices_of(report)};
  add_cells(tables, report);
  add_fits(tables, report);
  add_crossovers(tables, report);
  add_operations(tables, report);
  return tables;
}

std::string as_text(const std::vector<Table>& tables) {
  std::string text;
  for (const Table& table : tables) {
    if (!text.empty()) text += "\n";
    text += table.title + "\n";
    const std::vector<std::size_t> widths = widths_of(table);
    const auto line = [&](const std::vector<std::string>& row) {
      std::string cells;
      for (std::size_t i = 0; i < row.size(); ++i)
        cells += "  " + cell_text(row[i], widths[i], i < table.left_columns);
      text += trimmed(cells) + "\n";
    };
    line(table.header);
    for (const auto& row : table.rows) line(row);
    for (const std::string& note : table.notes) text += "  " + note + "\n";
  }
  return text;
}

std::string as_markdown(const std::vector<Table>& tables) {
  std::string text;
  for (const Table& table : tables) {
    if (!text.empty()) text += "\n";
    text += "## " + table.title + "\n\n";
    const auto line = [&text](const std::vector<std::string>& row) {
      text += fmt::format("| {} |\n", fmt::join(row, " | "));
    };
    line(table.header);
    std::vector<std::string> rule;
    for (std::size_t i = 0; i < table.header.size(); ++i)
      rule.emplace_back(i < table.left_columns ? "---" : "---:");
    line(rule);
    for (const auto& row : table.rows) line(row);
    for (const std::string& note : table.notes) text += "\n" + note + "\n";
  }
  return text;
}

}  // namespace attn::compare
