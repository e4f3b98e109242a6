#pragma once
#include <memory>
#include <string>

#include "attn/conformance/scenario.h"

namespace attn::test {

// The scenarios that attn-bench checks plugins with.
using namespace conformance;

/// The device of a backend, or null and the reason if its plugin or a device for it is not there.
std::shared_ptr<Device> device_if_there(const std::string& backend, std::string* why_not = nullptr);
/// The device that every other one is compared with.
std::shared_ptr<Device> reference_device();

}  // namespace attn::test
