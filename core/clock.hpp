/// The clocks of a recording. Raw timestamps are integers in nanoseconds of CLOCK_MONOTONIC.
#pragma once

#include <cstdint>
#include <ctime>

namespace stallcast {

/// Nanoseconds of `clock` now (vDSO for CLOCK_MONOTONIC and CLOCK_REALTIME; a system call for CPU clocks).
inline std::uint64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000ULL + static_cast<std::uint64_t>(now.tv_nsec);
}

inline std::uint64_t monotonic_ns() {
  return clock_ns(CLOCK_MONOTONIC);
}

}  // namespace stallcast
