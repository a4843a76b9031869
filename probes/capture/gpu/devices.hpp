/// What the driver and sysfs say about a device that work was seen on.
#pragma once

#include "probes/capture/gpu/lines.hpp"

namespace stallcast::gpu {

/// Asks the driver that the process has loaded; members that it does not tell stay empty. Not from within cuInit.
[[nodiscard]] DeviceFacts device_facts(std::uint32_t device);

}  // namespace stallcast::gpu
