/// What the tool itself wrote while it watched a run: `tool.jsonl`, one JSON object a line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analyzer/profile/profile.hpp"
#include "core/result.hpp"

namespace stallcast {

/// Counters of one consuming process at one instant (a copy of its RankSlot).
struct RankTick {
  std::int64_t pid = 0;
  std::int64_t rank = -1;
  std::uint64_t batches = 0;
  std::uint64_t samples = 0;
  std::uint64_t waited_ns = 0;
  std::uint64_t delivered_ns = 0;
  std::uint64_t steps = 0;
};

/// /proc of one process at one instant; -1 where it could not be read.
struct ProcessTick {
  std::int64_t pid = 0;
  std::int64_t parent_pid = 0;
  std::int64_t cpu_ns = -1;
  std::int64_t run_delay_ns = -1;
  std::int64_t read_bytes = -1;
  std::int64_t rchar = -1;
  std::int64_t minor_faults = -1;
  std::int64_t major_faults = -1;
  std::int64_t rss_bytes = -1;
  std::int64_t anon_bytes = -1;
  std::int64_t pss_bytes = -1;       ///< read more rarely than the others; likewise the next
  std::int64_t pss_anon_bytes = -1;  ///< the part of it that no file backs
  std::int64_t pss_swap_bytes = -1;  ///< what of the set lies on swap, beside `pss_bytes`
  std::int64_t swap_bytes = -1;
  std::string cpus{};  ///< that it may run on, as the kernel lists them; empty: not known
  std::string name{};  ///< of its program; empty: not known
};

struct Tick {
  std::uint64_t t_ns = 0;
  bool recording = true;  ///< from here on
  std::vector<RankTick> ranks{};
  std::vector<ProcessTick> processes{};
  std::int64_t tree_cpu_ns = -1;      ///< cumulative, whole process tree
  std::int64_t tree_read_bytes = -1;  ///< likewise, from storage
  std::int64_t shm_free_bytes = -1;   ///< of /dev/shm
  /// Of the control groups around the tool (collect::CpuThrottling): periods, those used up, time stopped; cumulative.
  std::int64_t quota_periods = -1;
  std::int64_t quota_throttled = -1;
  std::int64_t quota_throttled_ns = -1;
  /// CPUs that the tool may use, and their time; cumulative. What is neither idle nor the job's is others'.
  std::int64_t machine_cpus = -1;
  std::int64_t machine_idle_ns = -1;
  std::int64_t machine_stolen_ns = -1;  ///< by the host of this virtual machine
  std::int64_t tool_cpu_ns = -1;
};

/// How fast this machine reads resident files; absent in logs of versions that did not measure it.
struct ResidentRead {
  double seconds_per_call = 0.0;
  double seconds_per_byte = 0.0;
};

struct RunLog {
  std::string run_id{};
  std::string tool_version{};
  std::vector<std::string> command{};
  std::string job{};  ///< "NAME=value" by which the tool's own launcher names the job; empty: it does not
  std::uint64_t start_monotonic_ns = 0;
  std::uint64_t start_realtime_ns = 0;
  int ranks_expected = 1;
  std::optional<Host> host{};
  std::optional<ResidentRead> resident_read{};
  double fresh_page_s = -1.0;  ///< that a page of memory costs, taken from the kernel and given back; negative: unknown
  std::map<std::uint64_t, std::string> filesystems{};  ///< type by st_dev; empty in logs of older versions
  Emulation emulation{};
  std::set<std::uint64_t> limited_devices{};  ///< st_dev of the file systems on the disks that the kernel limits
  std::vector<Tick> ticks{};
  std::vector<DataIssue> issues{};
  bool watched = true;  ///< by a tool; not where `stallcast env` made the run folder
  bool ended = false;   ///< the tool saw the end of the command
  int exit_code = 0;
  int signal = 0;
  bool interrupted = false;
  bool ended_by_us = false;  ///< the command was measured, and ended as asked
  std::int64_t bad_lines = 0;
};

/// Reads tool.jsonl; lines that are no JSON (a torn last line) are counted, not fatal.
[[nodiscard]] Result<RunLog> read_run_log(const std::filesystem::path& path);

/// The same from text.
[[nodiscard]] RunLog parse_run_log(const std::string& text);

}  // namespace stallcast
