/// Times that the parts of the schedule share. Internal to phase_schedule*.cpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace stallcast::collect {

inline constexpr double k_second_ns = 1e9;
inline constexpr double k_look_s = 0.3;            ///< ranks may run this long until we have looked and published again
inline constexpr double k_found_s = 3.0;           ///< as found, before the first round
inline constexpr double k_found_at_most_s = 20.0;  ///< however few batches came
inline constexpr std::uint64_t k_found_turns = 12;
inline constexpr double k_block_s = 1.5;                ///< measured part of a block, at the rate as found
inline constexpr std::uint64_t k_fewest_measured = 12;  ///< and no fewer than workers: batches come in bunches
inline constexpr std::uint64_t k_many_measured = 24;    ///< of a block whose batches take long
inline constexpr std::uint64_t k_most_batches = 400;

/// Batches of a block that are measured, where `rate` come in a second: for 1.5 s. The two ends of so short a stretch
/// of slow batches blur it by one of them, so it lasts for up to twice as long there.
///
/// Worked example. 40 batches/s: 60; 10: 24; 6: 18; 2: 12.
inline std::uint64_t measured_batches(double rate) {
  const auto in = [&](double seconds) { return static_cast<std::uint64_t>(std::ceil(rate * seconds)); };
  return std::max({k_fewest_measured, in(k_block_s), std::min(k_many_measured, in(2.0 * k_block_s))});
}

}  // namespace stallcast::collect
