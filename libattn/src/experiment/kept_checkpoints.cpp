#include "kept_checkpoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "attn/core/error.h"
#include "attn/training/average_checkpoints.h"
#include "evaluate.h"
#include "training_keys.h"

namespace attn {
namespace {

namespace fs = std::filesystem;

struct Kept {
  fs::path path;
  double metric = 0.0;
};

// The best first; the earlier first among equals.
std::vector<Kept> by_metric(const RunDirectory& directory, bool larger_is_better) {
  std::vector<Kept> kept;
  for (const fs::path& path : directory.kept_checkpoints())
    kept.push_back({path, read_checkpoint_information(path).progress.last_metric});
  std::stable_sort(kept.begin(), kept.end(), [&](const Kept& a, const Kept& b) {
    return larger_is_better ? a.metric > b.metric : a.metric < b.metric;
  });
  return kept;
}

std::vector<fs::path> members_of(const RunDirectory& directory, const CheckpointConfig& config,
                                 bool larger_is_better) {
  std::vector<fs::path> members;
  if (config.average_of == CheckpointConfig::AverageOf::best) {
    for (const Kept& kept : by_metric(directory, larger_is_better)) members.push_back(kept.path);
  } else {
    members = directory.numbered_checkpoints();
    std::reverse(members.begin(), members.end());
  }
  members.resize(std::min(members.size(), static_cast<std::size_t>(config.average)));
  std::sort(members.begin(), members.end());
  return members;
}

AveragedCheckpoint average_and_compare(const Averaging& averaging, const std::vector<fs::path>& members,
                                       const fs::path& other) {
  const ValidationConfig::Metric metric = averaging.config.validation.metric;
  AveragedCheckpoint result;
  result.metric = name_of(metric);
  result.other_name = other.filename().string();
  CheckpointOrigin origin = averaging.origin;
  for (const fs::path& member : members) result.members.push_back(member.filename().string());
  origin.averaged_from = result.members;
  const auto evaluated = [&](const TranslationSystem& system) {
    return value_of(validation_figures(system, averaging.valid, averaging.config, averaging.batches), metric);
  };
  {
    const TranslationSystem average = average_checkpoints(members, averaging.device);
    save_checkpoint(averaging.directory.averaged_checkpoint(), average, nullptr, averaging.progress, origin);
    result.averaged = evaluated(average);
  }
  result.other = evaluated(load_translation_system(other, averaging.device, averaging.dtype));
  result.better = larger_is_better(metric) ? result.averaged > result.other : result.averaged < result.other;
  return result;
}

}  // namespace

bool worth_keeping(const RunDirectory& directory, const CheckpointConfig& config, double metric,
                   bool larger_is_better) {
  const std::vector<Kept> kept = by_metric(directory, larger_is_better);
  if (kept.size() < static_cast<std::size_t>(config.keep_best)) return true;
  const double worst = kept[static_cast<std::size_t>(config.keep_best) - 1].metric;
  return larger_is_better ? metric > worst : metric < worst;
}

void prune_kept(const RunDirectory& directory, const CheckpointConfig& config, bool larger_is_better) {
  const std::vector<Kept> kept = by_metric(directory, larger_is_better);
  for (auto i = static_cast<std::size_t>(config.keep_best); i < kept.size(); ++i)
    directory.remove(kept[i].path);
}

void rewind_kept(const RunDirectory& directory, std::int64_t update) {
  for (const fs::path& path : directory.kept_checkpoints()) {
    if (path.filename() > directory.kept_checkpoint(update).filename()) directory.remove(path);
  }
}

std::optional<AveragedCheckpoint> average_at_end(const Averaging& averaging, const fs::path& other) {
  const CheckpointConfig& config = averaging.config.checkpoints;
  const std::vector<fs::path> members =
      members_of(averaging.directory, config, larger_is_better(averaging.config.validation.metric));
  if (members.size() < static_cast<std::size_t>(config.average)) {
    averaging.warn(fmt::format("checkpoints.average asks for {} checkpoints, there {} {}{}", config.average,
                               members.size() == 1 ? "is" : "are", members.size(),
                               members.size() < 2 ? ": nothing is averaged" : ""));
  }
  if (members.size() < 2) return std::nullopt;
  try {
    return average_and_compare(averaging, members, other);
  } catch (const OutOfMemory& error) {
    averaging.warn(
        fmt::format("no checkpoints are averaged, memory does not suffice ({}); attn-train --average "
                    "does it afterwards",
                    error.what()));
    return std::nullopt;
  }
}

}  // namespace attn
