#include <fmt/ranges.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "attn/cli/output.h"
#include "attn/runtime/backend.h"
#include "command.h"
#include "table.h"

namespace attn::bench {
namespace {

using Json = nlohmann::ordered_json;

std::string as_json(const std::vector<BackendListing>& all) {
  Json list = Json::array();
  for (const BackendListing& one : all) {
    Json object;
    object["name"] = one.name;
    object["instruction_set"] = one.instruction_set;
    object["file"] = one.file.string();
    object["loaded"] = one.loaded;
    object["version"] = one.version;
    object["abi"] = one.abi;
    object["description"] = one.description;
    object["devices"] = one.devices;
    object["why_not"] = one.why_not;
    list.push_back(std::move(object));
  }
  return list.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string title_of(const BackendListing& one) {
  return one.instruction_set.empty() ? one.name : one.name + "-" + one.instruction_set;
}

// The plugin of the same name in an earlier folder, which is taken in place of this one.
const BackendListing* hiding(const std::vector<BackendListing>& all, const BackendListing& one) {
  for (const BackendListing& other : all) {
    if (&other == &one) return nullptr;
    if (other.name == one.name && other.file.parent_path() != one.file.parent_path()) return &other;
  }
  return nullptr;
}

std::string as_text(const std::vector<BackendListing>& all) {
  Table table({"backend", "variant", "version", "abi", "devices", "file"});
  std::string reasons;
  for (const BackendListing& one : all) {
    table.add({one.name, one.instruction_set, one.loaded ? one.version : "-", one.loaded ? one.abi : "-",
               one.devices.empty() ? "none" : fmt::format("{}", fmt::join(one.devices, ", ")),
               one.file.string()});
    if (const BackendListing* before = hiding(all, one))
      reasons += fmt::format("{}: hidden by {}\n", title_of(one), before->file.string());
    else if (!one.why_not.empty())
      reasons += fmt::format("{}: {}\n", title_of(one), one.why_not);
  }
  return table.to_string() + (reasons.empty() ? "" : "\nWhy not:\n" + reasons);
}

int run(const Common& common) {
  const std::vector<BackendListing> all = list_backends();
  cli::StandardOutput output;
  if (common.json) {
    output.write(as_json(all));
  } else if (all.empty()) {
    std::vector<std::string> folders;
    for (const auto& folder : backend_search_path()) folders.push_back(folder.string());
    common.messages().warning("no plugin in {}; set ATTN_BACKEND_PATH", fmt::join(folders, ", "));
  } else {
    output.write(as_text(all));
  }
  output.finish();
  return 0;
}

}  // namespace

Command add_list(CLI::App& app) {
  auto* command = app.add_subcommand(
      "list", "Every backend plugin that is found, its devices, or why it cannot run here");
  auto common = std::make_shared<Common>();
  declare(*command, *common);
  return [common] { return run(*common); };
}

}  // namespace attn::bench
