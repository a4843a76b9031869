/// What the GPUs did in a step, in words.
#pragma once

#include <string>
#include <vector>

#include "analyzer/profile/profile.hpp"

namespace stallcast::reports {

/// "busy 63 % (61 to 65) of a step, copies that nothing hides 8 % (7 to 9), idle 29 % (27 to 31), of which 21 % of the
/// step while a batch was waited for"; empty where it was not measured.
[[nodiscard]] std::string gpu_words(const Gpu& gpu);

/// "NVIDIA H200, 141 GB, 132 multiprocessors, 32.0 GT/s PCIe x16"; "8 x" before it where all are alike.
[[nodiscard]] std::string gpu_device_words(const Gpu& gpu);

}  // namespace stallcast::reports
