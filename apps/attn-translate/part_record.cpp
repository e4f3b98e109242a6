#include "part_record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "attn/core/error.h"
#include "attn/io/atomic_file.h"

namespace attn::translate {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* format = "attn.translation.part";
constexpr int version = 1;

std::string text_of(const Json& options, const std::string& name) {
  if (!options.contains(name)) return "none";
  const auto replace = Json::error_handler_t::replace;
  return options[name].is_string() ? options[name].get<std::string>()
                                   : options[name].dump(-1, ' ', false, replace);
}

}  // namespace

fs::path record_path(const fs::path& output) {
  fs::path path = PartFile::name_for(output);
  path += ".json";
  return path;
}

void write_record(const fs::path& path, const PartRecord& record) {
  Json object;
  object["format"] = format;
  object["version"] = version;
  object["model_sha256"] = record.model_sha256;
  object["options"] = record.options;
  object["input_sha256"] = record.input_sha256;
  object["target_sha256"] = record.target_sha256;
  object["output_bytes"] = record.output_bytes;
  object["output_sha256"] = record.output_sha256;
  for (const CountField& field : count_fields) object["counts"][field.name] = record.counts.*field.member;
  write_file_atomically(path, object.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

std::optional<PartRecord> read_record(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return std::nullopt;
  try {
    const Json object = Json::parse(read_file(path));
    if (object.at("format") != format || object.at("version") != version) {
      fail(ExitCode::file,
           "{} was written by another version of this program; remove it to translate from the first line",
           path.string());
    }
    PartRecord record;
    object.at("model_sha256").get_to(record.model_sha256);
    record.options = object.at("options");
    object.at("input_sha256").get_to(record.input_sha256);
    object.at("target_sha256").get_to(record.target_sha256);
    object.at("output_bytes").get_to(record.output_bytes);
    object.at("output_sha256").get_to(record.output_sha256);
    for (const CountField& field : count_fields)
      object.at("counts").at(field.name).get_to(record.counts.*field.member);
    return record;
  } catch (const Json::exception& error) {
    fail(ExitCode::file, "{} is damaged ({}); remove it to translate from the first line", path.string(),
         error.what());
  }
}

void check_same_run(const fs::path& output, const PartRecord& found, const PartRecord& wanted) {
  std::vector<std::string> differences;
  if (found.model_sha256 != wanted.model_sha256) differences.emplace_back("another model");
  Json names = found.options;
  names.update(wanted.options);
  for (const auto& [name, value] : names.items()) {
    const std::string then = text_of(found.options, name), now = text_of(wanted.options, name);
    if (then != now) differences.push_back(fmt::format("{} {} then and {} now", name, then, now));
  }
  if (differences.empty()) return;
  fail(ExitCode::usage,
       "{} cannot be resumed: it was begun with {}; resume with the same model and options, or remove "
       "{} to translate from the first line",
       output.string(), fmt::join(differences, ", "), record_path(output).string());
}

}  // namespace attn::translate
