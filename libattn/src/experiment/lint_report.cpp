#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "attn/core/error.h"
#include "attn/experiment/lint.h"

namespace attn {
namespace {

using Json = nlohmann::ordered_json;

std::string counted(std::size_t count, const char* one, const char* several) {
  return fmt::format("{} {}", count, count == 1 ? one : several);
}

std::string corpora_of(const LintReport& report) {
  std::vector<std::string> parts;
  for (const LintCorpus& corpus : report.corpora)
    parts.push_back(fmt::format("{} {}", corpus.pairs, corpus.data));
  std::string list = parts.empty() ? "no" : parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) list += (i + 1 < parts.size() ? ", " : " and ") + parts[i];
  return list + " pairs";
}

std::string where(const LintFinding& finding) {
  std::string text = finding.detail;
  if (finding.lines.empty()) return text;
  if (!text.empty()) text += "; ";
  const bool all = finding.lines.size() >= finding.count;
  return text + fmt::format("line{} {}{}", finding.count == 1 ? "" : "s", fmt::join(finding.lines, ", "),
                            all ? "" : ", ...");
}

// "0.02 %", never "0.00 %" for something that is there.
std::string share(const LintFinding& finding) {
  if (finding.of == 0) return {};
  const double percent = 100.0 * static_cast<double>(finding.count) / static_cast<double>(finding.of);
  if (percent < 0.01) return "<0.01 %";
  return fmt::format("{:.{}f} %", percent, percent < 1 ? 2 : 1);
}

constexpr std::size_t columns = 6;
using Row = std::array<std::string, columns>;

std::string line_of(const Row& row, const std::array<std::size_t, columns>& widths) {
  std::string line = fmt::format("{:<{}} {:<{}}  {:<{}}  {:>{}}  {:>{}}  {}", row[0], widths[0], row[1],
                                 widths[1], row[2], widths[2], row[3], widths[3], row[4], widths[4], row[5]);
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

}  // namespace

bool LintReport::has_serious() const {
  return std::any_of(findings.begin(), findings.end(),
                     [](const LintFinding& finding) { return finding.serious; });
}

std::string lint_text(const LintReport& report) {
  if (report.findings.empty()) return fmt::format("data: nothing found in {}", corpora_of(report));
  std::vector<Row> rows{{"", "DATA", "FINDING", "COUNT", "SHARE", "WHERE"}};
  for (const LintFinding& finding : report.findings) {
    rows.push_back({finding.serious ? "!" : "", finding.data, finding.text, std::to_string(finding.count),
                    share(finding), where(finding)});
  }
  std::array<std::size_t, columns> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < columns; ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text = fmt::format("data: {} in {}{}\n", counted(report.findings.size(), "finding", "findings"),
                                 corpora_of(report), report.has_serious() ? "; ! is serious" : "");
  for (const Row& row : rows) text += line_of(row, widths);
  text.pop_back();
  return text;
}

std::string lint_json(const LintReport& report, int indent) {
  Json json{{"corpora", Json::array()}, {"findings", Json::array()}};
  for (const LintCorpus& corpus : report.corpora) {
    json["corpora"].push_back(
        {{"data", corpus.data},
         {"name", corpus.name},
         {"pairs", corpus.pairs},
         {"source", {{"tokens", corpus.source_tokens}, {"unknown", corpus.source_unknown}}},
         {"target", {{"tokens", corpus.target_tokens}, {"unknown", corpus.target_unknown}}}});
  }
  for (const LintFinding& finding : report.findings) {
    json["findings"].push_back({{"data", finding.data},
                                {"check", finding.check},
                                {"text", finding.text},
                                {"count", finding.count},
                                {"of", finding.of},
                                {"serious", finding.serious},
                                {"lines", finding.lines},
                                {"detail", finding.detail}});
  }
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

LintReport lint_from_json(std::string_view text) {
  LintReport report;
  try {
    const Json json = Json::parse(text);
    for (const Json& corpus : json.at("corpora")) {
      report.corpora.push_back({corpus.at("data"), corpus.at("name"), corpus.at("pairs"),
                                corpus.at("source").at("tokens"), corpus.at("source").at("unknown"),
                                corpus.at("target").at("tokens"), corpus.at("target").at("unknown")});
    }
    for (const Json& finding : json.at("findings")) {
      report.findings.push_back({finding.at("data"), finding.at("check"), finding.at("text"),
                                 finding.at("count"), finding.at("of"), finding.at("lines"),
                                 finding.at("detail"), finding.at("serious")});
    }
  } catch (const Json::exception& error) {
    fail(ExitCode::input_data, "this is no report of findings in data: {}", error.what());
  }
  return report;
}

}  // namespace attn
