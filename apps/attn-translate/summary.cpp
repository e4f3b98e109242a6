#include "summary.h"

#include <cmath>

#include "attn/cli/output.h"
#include "attn/io/atomic_file.h"

namespace attn::translate {
namespace {

using Json = nlohmann::ordered_json;

constexpr int standard_error = 2;

Json json_of(const Summary::Text& text) {
  Json object;
  object["name"] = text.name;
  object["bytes"] = text.bytes;
  object["sha256"] = text.sha256.empty() ? Json() : Json(text.sha256);
  return object;
}

double rounded(double value) {
  return std::round(value * 1000.0) / 1000.0;
}

Json json_of(const Summary& summary) {
  const Counts& counts = summary.counts;
  Json object;
  object["complete"] = summary.complete;
  object["exit_code"] = summary.exit_code;
  object["lines_in"] = summary.lines_in;
  object["lines_out"] = counts.lines;
  object["texts_out"] = counts.texts;
  object["resumed_lines"] = summary.resumed_lines;
  object["blank_lines"] = counts.blank;
  object["cropped_lines"] = counts.cropped;
  object["invalid_utf8_lines"] = summary.invalid_utf8;
  object["out_of_memory_lines"] = counts.out_of_memory;
  object["source_tokens"] = counts.source_tokens;
  object["unknown_source_tokens"] = counts.unknown;
  object["target_tokens"] = counts.target_tokens;
  object["unknown_target_tokens"] = counts.unknown_made;
  object["replaced_target_tokens"] = counts.replaced;
  object["input"] = json_of(summary.input);
  if (summary.targets) object["targets"] = json_of(*summary.targets);
  if (summary.output) object["output"] = json_of(*summary.output);
  object["model"] = {{"name", summary.model}, {"sha256", summary.model_sha256}};
  object["options"] = summary.options;
  object["backend"] = summary.backend;
  object["workers"] = summary.workers;
  object["seconds"] = rounded(summary.seconds);
  const auto answered = static_cast<double>(counts.lines - summary.resumed_lines);
  object["lines_per_second"] = summary.seconds > 0.0 ? rounded(answered / summary.seconds) : 0.0;
  return object;
}

}  // namespace

void write_summary(const std::string& path, const Summary& summary) {
  const std::string line = json_of(summary).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  if (path != "-") {
    write_file_atomically(path, line);
    return;
  }
  cli::StandardOutput stream(standard_error);
  stream.write(line);
  stream.finish();
}

}  // namespace attn::translate
