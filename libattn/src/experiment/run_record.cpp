#include "run_record.h"

#include <nlohmann/json.hpp>
#include <thread>

#include "attn/core/version.h"

namespace attn {
namespace {
using Json = nlohmann::ordered_json;
}  // namespace

void write_run_record(const RunDirectory& directory, const std::string& config_yaml,
                      const std::string& command_line, const Device& device) {
  directory.write("config.yaml", config_yaml);
  directory.append_line("command.txt", command_line);
  const Json environment{{"attn", version()},
                         {"backend", device.backend().name()},
                         {"backend_version", device.backend().version()},
                         {"plugin", device.backend().file().string()},
                         {"device", device.name()},
                         {"threads", device.options().threads},
                         {"cores", std::thread::hardware_concurrency()},
                         {"compiler", __VERSION__}};
  directory.write("environment.json", environment.dump(2) + "\n");
}

void write_run_status(const RunDirectory& directory, const std::string& name, const char* state,
                      const std::string& message) {
  Json status{{"state", state}, {"name", name}};
  if (!message.empty()) status["message"] = message;
  directory.write("status.json", status.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace attn
