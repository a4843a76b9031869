/// The loop of a run: heartbeat, ticks, overhead pairs, signals, and the end of the command.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/data_issue.hpp"
#include "probes/collect/launch/signal_gate.hpp"
#include "probes/collect/run/tool_log.hpp"
#include "probes/collect/schedule/overhead_schedule.hpp"
#include "probes/collect/system/process_tree.hpp"
#include "probes/record/control.hpp"

namespace stallcast::collect {

struct WatchOptions {
  OverheadDuty duty = OverheadDuty::usual;
  std::optional<std::uint64_t> recording_limit_ns{};  ///< from the first batch on; the command goes on without us
  std::uint64_t descendants_grace_ns = 2'000'000'000ULL;
  std::function<void(std::uint64_t now_ns)> on_beat{};     ///< ten times a second while the command runs
  std::function<void()> on_loading{};                      ///< once, when the first process asks for its first batch
  std::function<void(bool recording)> on_recording{};      ///< at each edge, just before the switch
  bool stop_at_limit = false;                              ///< recording_limit_ns ends the command as well
  std::function<bool(std::uint64_t now_ns)> wants_stop{};  ///< likewise: true ends the command; absent: nothing does
  std::uint64_t end_grace_ns = 10'000'000'000ULL;          ///< from SIGINT to SIGTERM, and from that to SIGKILL
};

struct WatchEnd {
  int exit_code = 0;  ///< 128 + signal if a signal ended the command
  int signal = 0;
  bool interrupted = false;
  bool ended_by_us = false;                ///< as we were asked to
  bool consumer_seen = false;              ///< a process took batches
  std::string isolating_flag{};            ///< of a Python process that the Python part could not get into
  bool environment_stripped = false;       ///< a Python process had lost our variables
  std::vector<std::string> left_behind{};  ///< names of processes that outlived the command and the grace
  std::int64_t without_io = 0;             ///< processes whose /proc/PID/io could not be read
};

/// Runs until `child` has ended and its descendants have, or the grace is over. Never signals anybody but by passing
/// on what was sent to us, and to end a command that is to be stopped (JobEnd). Writes ticks to `log`; the recording
/// switch of `control` is on at the end of a run, its stop switch too.
[[nodiscard]] WatchEnd watch(pid_t child, record::ControlBlock& control, ToolLog& log, SignalGate& gate,
                             ProcessTree tree, const WatchOptions& options);

}  // namespace stallcast::collect
