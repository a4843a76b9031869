/// Times that the parts of the phase schedule share. Internal to phase_schedule*.cpp.
#pragma once

#include <cstdint>

namespace stallcast::collect {

inline constexpr double k_second_ns = 1e9;
inline constexpr double k_look_s = 0.3;   ///< the ranks may run this long until we have looked and published again
inline constexpr double k_block_s = 1.5;  ///< measured part of a block, at the rate as found
inline constexpr std::uint64_t k_most_batches = 400;
inline constexpr std::uint64_t k_fewest_replayed = 8;

}  // namespace stallcast::collect
