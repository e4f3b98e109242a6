#include "attn/experiment/run_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <utility>

#include "attn/core/error.h"
#include "attn/experiment/run_lock.h"
#include "attn/io/atomic_file.h"
#include "attn/io/yaml.h"
#include "run_record.h"

namespace attn {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::array<std::pair<RunState, std::string_view>, 7> state_names{
    {{RunState::fresh, "new"},
     {RunState::running, "running"},
     {RunState::interrupted, "interrupted"},
     {RunState::finished, "finished"},
     {RunState::stopped_early, "stopped early"},
     {RunState::failed, "failed"},
     {RunState::damaged, "damaged"}}};

bool holds_anything(const fs::path& folder) {
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
    if (entry->path().filename() != RunLock::file_name) return true;
  }
  return false;
}

std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

double number_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : 0.0;
}

RunStatus status_in(const Json& status) {
  const std::string state = status.is_object() ? text_of(status, "state") : "";
  const auto* const found = std::find_if(state_names.begin(), state_names.end(),
                                         [&](const auto& name) { return name.second == state; });
  if (found == state_names.end()) return {RunState::damaged, "status.json has no state"};
  if (found->first == RunState::running) return {RunState::interrupted, "killed before it had ended"};
  return {found->first, text_of(status, "message")};
}

std::string value_text(const yaml::Node& node) {
  if (node.is_null()) return "null";
  if (node.is_scalar()) return node.text;
  std::string text;
  for (const yaml::Node& item : node.items) text += (text.empty() ? "" : ", ") + value_text(item);
  return "[" + text + "]";
}

void flatten(const yaml::Node& node, const std::string& prefix, std::map<std::string, std::string>& keys) {
  for (const yaml::Entry& entry : node.entries) {
    const std::string path = prefix.empty() ? entry.key : prefix + "." + entry.key;
    if (entry.value.is_map()) {
      flatten(entry.value, path, keys);
    } else {
      keys[path] = value_text(entry.value);
    }
  }
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The validated epoch that the run itself would call its best: the first of equals.
const EpochMetrics* best_epoch(const RunHistory& run) {
  const auto key = run.keys.find("validation.metric");
  const std::string metric = "valid_" + (key == run.keys.end() ? "loss" : key->second);
  const EpochMetrics* best = nullptr;
  for (const EpochMetrics& epoch : run.epochs) {
    const auto value = epoch.find(metric);
    if (value == epoch.end()) continue;
    const bool better =
        best == nullptr || (larger_is_better(metric) ? value->second > best->find(metric)->second
                                                     : value->second < best->find(metric)->second);
    if (better) best = &epoch;
  }
  return best;
}

void collect_epochs(RunHistory& run) {
  if (run.epochs.empty()) return;
  const EpochMetrics& last = run.epochs.back();
  for (const auto& [name, source] : {std::pair{"epochs", "epoch"}, std::pair{"updates", "update"},
                                     std::pair{"loss", "loss"}, std::pair{"book_loss", "book_loss"}}) {
    if (const auto found = last.find(source); found != last.end()) run.metrics[name] = found->second;
  }
  std::vector<double> rates;
  for (const EpochMetrics& epoch : run.epochs) {
    if (const auto found = epoch.find("tokens_per_second"); found != epoch.end())
      rates.push_back(found->second);
  }
  if (!rates.empty()) run.metrics["tokens_per_second"] = median(rates);
  const EpochMetrics* best = best_epoch(run);
  if (best == nullptr) return;
  run.metrics["best_epoch"] = best->find("epoch")->second;
  for (const auto& [name, value] : *best) {
    if (name.starts_with("valid_")) run.metrics[name] = value;
  }
}

void collect_report(RunHistory& run) {
  std::error_code ignored;
  const fs::path file = run.folder / "report.json";
  if (!fs::exists(file, ignored)) return;
  const Json report = Json::parse(read_file(file), nullptr, false);
  if (!report.is_object()) fail(ExitCode::input_data, "report.json is damaged");
  const auto test = report.find("test");
  if (test == report.end() || !test->is_object()) return;
  for (const auto& [name, value] : test->items()) {
    if (value.is_number()) run.metrics["test_" + name] = value.get<double>();
  }
}

AveragedCheckpoint averaged_in(const Json& average) {
  AveragedCheckpoint averaged;
  averaged.members = average.at("members").get<std::vector<std::string>>();
  averaged.metric = text_of(average, "metric");
  averaged.averaged = number_of(average, "averaged");
  averaged.other = number_of(average, "other_value");
  averaged.other_name = text_of(average, "other");
  averaged.better = average.value("better", false);
  return averaged;
}

// Reads one part; a fault in it leaves the others readable.
template<typename Part>
void attempt(RunHistory& run, Part part) {
  try {
    part();
  } catch (const std::exception& error) {
    if (run.status.state != RunState::damaged)
      run.status.message += (run.status.message.empty() ? "" : "; ") + std::string(error.what());
    if (is_done(run.status.state)) run.status.state = RunState::damaged;
  }
}

void find_below(const fs::path& path, std::vector<fs::path>& found) {
  if (is_run_directory(path)) {
    found.push_back(path);
    return;
  }
  std::error_code failed;
  std::vector<std::string> folders;
  for (fs::directory_iterator entry(path, failed), end; !failed && entry != end; entry.increment(failed)) {
    // A link to a folder above would never end.
    std::error_code ignored;
    if (entry->is_directory(ignored) && !entry->is_symlink(ignored))
      folders.push_back(entry->path().string());
  }
  std::sort(folders.begin(), folders.end(), natural_less);
  for (const std::string& folder : folders) find_below(folder, found);
}

}  // namespace

std::string_view name_of(RunState state) {
  return state_names[static_cast<std::size_t>(state)].second;
}

bool is_done(RunState state) {
  return state == RunState::finished || state == RunState::stopped_early;
}

RunStatus run_status(const fs::path& folder) {
  if (RunLock::held(folder)) return {RunState::running, ""};
  std::error_code ignored;
  if (!fs::exists(folder / "status.json", ignored)) {
    if (!holds_anything(folder)) return {};
    return {RunState::damaged, "there is no status.json"};
  }
  try {
    return status_in(Json::parse(read_file(folder / "status.json"), nullptr, false));
  } catch (const Error& error) {
    return {RunState::damaged, error.what()};
  }
}

std::optional<EpochMetrics> parse_metrics(std::string_view line) {
  const Json entry = Json::parse(line, nullptr, false);
  if (!entry.is_object() || !entry.contains("epoch") || !entry["epoch"].is_number()) return std::nullopt;
  EpochMetrics metrics;
  for (const auto& [name, value] : entry.items()) {
    if (value.is_number()) metrics[name] = value.get<double>();
  }
  return metrics;
}

std::vector<EpochMetrics> read_metrics(const fs::path& file, std::size_t* damaged_lines) {
  std::vector<EpochMetrics> epochs;
  std::istringstream lines(read_file(file));
  for (std::string line; std::getline(lines, line);) {
    if (std::optional<EpochMetrics> epoch = parse_metrics(line)) {
      epochs.push_back(std::move(*epoch));
    } else if (damaged_lines != nullptr) {
      ++*damaged_lines;
    }
  }
  return epochs;
}

bool larger_is_better(std::string_view metric) {
  constexpr std::array<std::string_view, 5> smaller{"loss", "perplexity", "ter", "error", "seconds"};
  return std::none_of(smaller.begin(), smaller.end(), [&](std::string_view name) {
    return metric == name || (metric.ends_with(name) && metric[metric.size() - name.size() - 1] == '_');
  });
}

RunHistory read_run(const fs::path& folder) {
  RunHistory run{.folder = folder, .status = run_status(folder), .keys = {}, .epochs = {}, .metrics = {}};
  std::error_code ignored;
  if (!fs::exists(folder, ignored)) return run;
  attempt(run, [&] { run.keys = flat_keys(read_file(folder / "config.yaml"), "config.yaml"); });
  attempt(run, [&] {
    if (!fs::exists(folder / "metrics.jsonl", ignored)) return;
    std::size_t damaged = 0;
    run.epochs = read_metrics(folder / "metrics.jsonl", &damaged);
    collect_epochs(run);
    if (damaged > 0)
      fail(ExitCode::input_data, "{} damaged line{} in metrics.jsonl", damaged, damaged == 1 ? "" : "s");
  });
  attempt(run, [&] { collect_report(run); });
  return run;
}

void record_failure(const fs::path& folder, const std::string& name, const std::string& message) {
  if (run_status(folder).state != RunState::fresh) return;
  try {
    write_run_status(RunDirectory(folder, RunDirectory::Mode::fresh), name, "failed", message);
  } catch (const Error&) {
    // The failure that is recorded here is the one to report.
  }
}

bool is_run_directory(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) return false;
  const auto has = [&](const char* name) { return fs::exists(folder / name, ignored); };
  return has("status.json") || has("metrics.jsonl") || has("config.yaml") || has("checkpoints");
}

std::vector<fs::path> find_runs(const std::vector<fs::path>& paths) {
  std::vector<fs::path> found;
  for (const fs::path& path : paths) {
    std::error_code ignored;
    if (!fs::exists(path, ignored))
      fail(ExitCode::file, "{} does not exist; name run directories or folders that hold some",
           path.string());
    find_below(path, found);
  }
  std::set<fs::path> seen;
  std::erase_if(found, [&](const fs::path& path) {
    return !seen.insert(fs::absolute(path / "").lexically_normal()).second;
  });
  return found;
}

std::optional<RunSummary> read_report(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::exists(folder / "report.json", ignored)) return std::nullopt;
  try {
    const Json report = Json::parse(read_file(folder / "report.json"));
    const auto quality = [&](const char* key) -> std::optional<TranslationQuality> {
      if (!report.contains(key)) return std::nullopt;
      const Json& q = report.at(key);
      return TranslationQuality{number_of(q, "bleu"), number_of(q, "book_bleu"), text_of(q, "signature"),
                                number_of(q, "chrf")};
    };
    RunSummary summary;
    if (run_status(folder).state == RunState::stopped_early)
      summary.outcome = Trainer::Outcome::stopped_early;
    summary.progress.epoch = report.at("epochs").get<std::int64_t>();
    summary.progress.update = report.at("updates").get<std::int64_t>();
    summary.loss = number_of(report, "loss");
    summary.book_loss = number_of(report, "book_loss");
    summary.tokens_per_second = number_of(report, "tokens_per_second");
    summary.checkpoint = text_of(report, "checkpoint");
    if (const auto average = report.find("average"); average != report.end())
      summary.averaged = averaged_in(*average);
    summary.progress.split_batches = report.value("split_batches", std::int64_t{0});
    summary.progress.skipped_sentences = report.value("skipped_sentences", std::int64_t{0});
    summary.test = quality("test");
    summary.training = quality("training_pairs");
    for (const Json& sample : report.value("samples", Json::array())) {
      Sample& added = summary.samples.emplace_back();
      added.source = text_of(sample, "source");
      added.translation = text_of(sample, "translation");
      added.reference = text_of(sample, "reference");
      if (sample.contains("book_bleu")) added.book_bleu = number_of(sample, "book_bleu");
    }
    return summary;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::map<std::string, std::string> flat_keys(const std::string& config_yaml, const std::string& name) {
  std::map<std::string, std::string> keys;
  flatten(yaml::parse(config_yaml, name).root, "", keys);
  return keys;
}

bool natural_less(const std::string& a, const std::string& b) {
  return strverscmp(a.c_str(), b.c_str()) < 0;
}

}  // namespace attn
