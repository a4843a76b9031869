/// When the recording is on and when it is off, so that every run measures what the recording costs.
///
/// Stretches of 1 s. The dense part takes 20 s in the order A B B A (on off off on), repeated: a drift of the job's
/// rate that is linear over a group cancels between its on and its off half. After it one stretch in 15 is off, with an
/// on stretch on either side to compare it with; from 10 minutes on one in 60, from 1 hour on one in 300.
///
/// Worked example, seconds since the start: 0 on, 1 off, 2 off, 3 on, 4 on, 5 off, ... 19 on, 20..33 on, 34 off, 35 on.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stallcast::collect {

enum class OverheadDuty {
  usual,   ///< as above
  always,  ///< A B B A for the whole run: benchmarks
  off,     ///< always recording
};

/// "default", "always" or "off"; nothing for anything else.
[[nodiscard]] std::optional<OverheadDuty> overhead_duty_from_name(std::string_view name);

/// Length of a stretch: 1 s, so that jobs of slow batches have some in each. For benchmarks 0.2 s: a machine's speed
/// moves within a second, and more and shorter stretches follow it.
[[nodiscard]] constexpr std::uint64_t stretch_ns(OverheadDuty duty) {
  return duty == OverheadDuty::always ? 200'000'000ULL : 1'000'000'000ULL;
}

/// Whether stretch number `stretch` since the start of the alternation records.
[[nodiscard]] bool stretch_records(OverheadDuty duty, std::uint64_t stretch);

/// Whether a stretch is part of a comparison: it, the one before it or the one after it is off.
[[nodiscard]] bool stretch_is_compared(OverheadDuty duty, std::uint64_t stretch);

}  // namespace stallcast::collect
