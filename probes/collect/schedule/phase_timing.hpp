/// Times that the parts of the schedule share. Internal to phase_schedule*.cpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "probes/collect/schedule/constants.hpp"

namespace stallcast::collect {

inline constexpr double k_second_ns = 1e9;

/// Batches of a block that are measured, where `rate` come in a second: for `block_s`. The two ends of a stretch of
/// 1.5 s of slow batches blur it by one of them, so it lasts for up to twice as long there.
///
/// Worked example. 40 batches/s: 60; 10: 24; 6: 18; 2: 12.
inline std::uint64_t measured_batches(double rate, double block_s = k_block_s) {
  const auto in = [&](double seconds) { return static_cast<std::uint64_t>(std::ceil(rate * seconds)); };
  return std::max({k_fewest_block_batches, in(block_s), std::min(k_many_block_batches, in(2.0 * k_block_s))});
}

}  // namespace stallcast::collect
