/// Steps in which CUPTI recorded the GPU: they tell what the device does, and take longer than the others.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/load/gpu_recording.hpp"
#include "analyzer/steps/steady.hpp"

namespace stallcast {

/// Takes out of `steps` those that a window of any of `gpus`, of one machine, touches: ranks wait for the one that is
/// traced. Those that lie within what the windows of `pid` tell become `traced`. Where fewer than half of the steps
/// would be left, all stay.
void set_traced_apart(const std::vector<GpuRecording>& gpus, std::int64_t pid, SteadyWindow& window);

}  // namespace stallcast
