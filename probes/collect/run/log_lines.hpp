/// The lines of tool.jsonl: what the tool itself saw of a run. One JSON object a line, "kind" says which.
///
/// | kind | when | content |
/// |---|---|---|
/// | run | first | run id, command, mode, start on both clocks, ranks expected |
/// | host | second | HostFacts, and what a resident read costs |
/// | filesystems | third | type of each mounted device: no names, no mount points |
/// | tick | every edge of an overhead pair, and every 1 s (later more rarely) | rank slots, processes, sums of the tree
/// | | issue | as it is found | a DataIssue | | end | last | exit status |
///
/// A log without an end line is of a tool that was killed. Text that is not UTF-8 is replaced, never dropped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/data_issue.hpp"
#include "probes/collect/pages/resident_read.hpp"
#include "probes/collect/run/rank_reading.hpp"
#include "probes/collect/system/cpu_throttling.hpp"
#include "probes/collect/system/host_facts.hpp"
#include "probes/collect/system/machine_cpu.hpp"
#include "probes/collect/system/mounts.hpp"
#include "probes/collect/system/process_tree.hpp"

namespace stallcast::collect {

inline constexpr int k_log_version = 1;

struct RunLine {
  std::string run_id{};
  std::string tool_version{};
  std::vector<std::string> command{};
  std::string mode = "passive";  ///< unwatched: no tool goes on to look at it
  std::uint32_t restart = 0;
  std::string job{};  ///< "NAME=value" by which the launcher names the job; empty: it does not
  std::uint64_t start_monotonic_ns = 0;
  std::uint64_t start_realtime_ns = 0;
  int ranks_expected = 1;
};

struct TickLine {
  std::uint64_t t_ns = 0;  ///< CLOCK_MONOTONIC at which the rank slots were read
  bool recording = true;   ///< state from here on
  std::vector<RankReading> ranks{};
  const std::vector<Process>* processes = nullptr;  ///< null: an edge without details
  std::uint64_t tree_cpu_ns = 0;
  std::optional<std::uint64_t> tree_read_bytes{};
  std::optional<std::uint64_t> shm_free_bytes{};  ///< of /dev/shm; this and the next two with details alone
  std::optional<CpuThrottling> throttling{};
  std::optional<MachineCpu> machine{};
  std::uint64_t tool_cpu_ns = 0;  ///< of the tool itself; not part of tree_cpu_ns
};

struct EndLine {
  std::uint64_t t_ns = 0;
  int exit_code = 0;  ///< 128 + signal if a signal ended the command
  int signal = 0;
  bool interrupted = false;  ///< the tool was asked to end (Ctrl-C, SIGTERM, SIGHUP, SIGQUIT)
  bool ended_by_us = false;  ///< the command was measured, and ended as asked
};

/// Each without a newline at its end.
[[nodiscard]] std::string to_line(const RunLine& run);
/// `fresh_page_s`: as of measure_fresh_page().
[[nodiscard]] std::string to_line(const HostFacts& host, const std::optional<ResidentReadCost>& resident_read,
                                  const std::optional<double>& fresh_page_s);
[[nodiscard]] std::string to_line(const std::vector<Mount>& mounts);
[[nodiscard]] std::string to_line(const TickLine& tick);
[[nodiscard]] std::string to_line(const DataIssue& issue);
[[nodiscard]] std::string to_line(const EndLine& end);

}  // namespace stallcast::collect
