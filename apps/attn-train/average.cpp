#include "average.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "attn/core/error.h"
#include "attn/experiment/training_run.h"
#include "attn/training/average_checkpoints.h"
#include "attn/training/checkpoint.h"

namespace attn::train {

namespace fs = std::filesystem;

void average_files(const AverageOptions& options, const cli::Messages& messages, cli::StandardOutput& out) {
  std::vector<fs::path> paths;
  std::vector<std::string> names;
  for (const std::string& input : options.inputs) {
    paths.push_back(checkpoint_to_load(input));
    names.push_back(paths.back().string());
    std::error_code ignored;
    if (fs::equivalent(paths.back(), options.output, ignored))
      fail(ExitCode::usage, "{} is to be averaged and cannot be the output as well", names.back());
  }
  BackendConfig backend;
  if (!options.backend.empty()) backend.name = options.backend;
  const TranslationSystem average = average_checkpoints(paths, open_device(backend));

  CheckpointInformation newest = read_checkpoint_information(paths.front());
  CheckpointOrigin origin = newest.origin;
  for (const fs::path& path : paths) {
    CheckpointInformation information = read_checkpoint_information(path);
    if (information.progress.update > newest.progress.update) newest = std::move(information);
  }
  origin.command_line = options.command_line;
  origin.averaged_from = names;
  save_checkpoint(options.output, average, nullptr, newest.progress, origin);
  messages.info("wrote {}", options.output);
  const nlohmann::ordered_json result{
      {"output", options.output}, {"averaged", names}, {"parameters", average.model->parameters().count()}};
  out.write(options.json ? result.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"
                         : fmt::format("{}: the average of {} checkpoints, {} parameters\n", options.output,
                                       names.size(), average.model->parameters().count()));
}

}  // namespace attn::train
