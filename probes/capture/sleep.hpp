/// Sleeping as precisely as the kernel lets an ordinary thread.
#pragma once

#include <ctime>

#include "probes/capture/phases/system_calls.hpp"

namespace stallcast::capture {

/// Until `end_ns` of CLOCK_MONOTONIC. A timer wakes late by its slack (50 us by default), which is set aside meanwhile,
/// and by the scheduler's latency.
inline void sleep_until(std::uint64_t end_ns) {
  const timespec end{.tv_sec = static_cast<time_t>(end_ns / 1'000'000'000ULL),
                     .tv_nsec = static_cast<long>(end_ns % 1'000'000'000ULL)};
  const unsigned long slack_ns = raw::timer_slack_ns();
  if (slack_ns != 0) raw::set_timer_slack(1);
  while (raw::sleep_until(end)) {
  }
  if (slack_ns != 0) raw::set_timer_slack(slack_ns);
}

}  // namespace stallcast::capture
