#pragma once
#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "attn/io/atomic_file.h"
#include "support/text_files.h"

namespace attn::test {

/// What a run leaves behind, without running it: `settings` are lines of config.yaml.
inline std::filesystem::path make_run(const TemporaryFolder& folder, const std::string& name,
                                      const std::string& settings, const std::string& state,
                                      const std::string& metrics = "", const std::string& report = "") {
  const std::filesystem::path run = folder.path() / name;
  std::filesystem::create_directories(run);
  write_file_atomically(run / "config.yaml", "name: " + name + "\n" + settings);
  if (!state.empty()) write_file_atomically(run / "status.json", R"({"state": ")" + state + "\"}\n");
  if (!metrics.empty()) write_file_atomically(run / "metrics.jsonl", metrics);
  if (!report.empty()) write_file_atomically(run / "report.json", report);
  return run;
}

/// A line of metrics.jsonl.
inline std::string epoch(int number, double loss, double valid_loss, double bleu) {
  return fmt::format(
      R"({{"epoch":{},"update":{},"loss":{},"tokens_per_second":{},"valid_loss":{},"valid_bleu":{}}})"
      "\n",
      number, number * 10, loss, 1000 * number, valid_loss, bleu);
}

}  // namespace attn::test
