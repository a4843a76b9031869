/// Times that the parts of the phase schedule share. Internal to phase_schedule*.cpp.
#pragma once

namespace stallcast::collect {

inline constexpr double k_second_ns = 1e9;
inline constexpr double k_look_s = 0.3;  ///< the ranks may run this long until we have looked and published again

}  // namespace stallcast::collect
