#include "scenario.h"

#include "attn/core/error.h"
#include "support/error_of.h"

namespace attn::test {

std::shared_ptr<Device> device_if_there(const std::string& backend, std::string* why_not) {
  try {
    return Device::open(backend);
  } catch (const Error& error) {
    const std::string message = error.what();
    // A plugin that is there but broken is not passed over.
    if (!contains(message, "unknown backend") && !contains(message, "has no device")) throw;
    if (why_not != nullptr) *why_not = message;
    return nullptr;
  }
}

std::shared_ptr<Device> reference_device() {
  return Device::open("reference");
}

}  // namespace attn::test
