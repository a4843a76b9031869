/// The job's processes: all descendants of the tool, and what they have used together.
///
/// CPU of a tree without counting anything twice. At any instant the CPU time of a process that ended and was waited
/// for is part of its parent's "children" time (and moves up with it), so
///
///   tree = sum over living processes of (own time, all threads) + (children time) + what we reaped ourselves.
///
/// Worked example. A worker has used 3.0 s, its parent 10.0 s with 1.0 s of children: 14.0 s. The worker ends and is
/// waited for: parent 10.0 s, children 4.0 s: still 14.0 s. Between the two readings of one pass the worker may end:
/// read after its parent it is simply gone, so its time is missing. Parents are therefore read before their children,
/// and a pass in which somebody vanished is repeated.
///
/// Own time comes from the CPU clock (ns). Children's time comes in clock ticks, two roundings a living parent. Lost is
/// the time of children whose parent ignores SIGCHLD. Bytes need no such care: /proc/PID/io of a process includes the
/// children that it waited for.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <unordered_set>
#include <vector>

#include "probes/collect/system/process_reader.hpp"

namespace stallcast::collect {

/// One process of the job as last read.
struct Process {
  pid_t pid = 0;
  StatLine stat{};
  std::uint64_t cpu_ns = 0;                     ///< its own, all threads
  std::optional<std::uint64_t> run_delay_ns{};  ///< of the main thread
  std::optional<IoCounters> io{};
  std::optional<std::uint64_t> anonymous_bytes{};
  std::optional<StatusFacts> status{};
  std::optional<ProportionalSet> proportional{};  ///< absent in readings that did not ask for it
};

class ProcessTree {
 public:
  /// Descendants of `top`, itself not included.
  ProcessTree(ProcessReader reader, pid_t top);

  /// Lists /proc for processes that joined the tree. Processes once seen elsewhere are not looked at again until
  /// forget_others().
  void discover();

  /// Reads stat and CPU clock of every member, drops those that ended. Cheap: the edge of an overhead pair.
  void measure_cpu();

  /// Reads I/O, run delay and memory of every member; proportional sets too if asked.
  void measure_details(bool proportional);

  /// A member that we waited for ourselves: its time (with its children's) and its last I/O counters stay in the sums.
  void add_reaped(pid_t pid, std::uint64_t cpu_ns, const std::optional<IoCounters>& io);

  /// Pids are used again: what was no member may be one now.
  void forget_others() { others_.clear(); }

  /// Parents before children.
  [[nodiscard]] const std::vector<Process>& processes() const { return processes_; }
  [[nodiscard]] bool contains(pid_t pid) const;

  /// Cumulative CPU of the tree; never falls.
  [[nodiscard]] std::uint64_t cpu_ns() const { return cpu_ns_; }

  /// Cumulative bytes from storage; nothing if some living process could not be read in the last measure_details.
  [[nodiscard]] std::optional<std::uint64_t> read_bytes() const { return read_bytes_; }

  /// Members whose I/O counters could not be read in the last measure_details.
  [[nodiscard]] std::int64_t without_io() const { return without_io_; }

  [[nodiscard]] const ProcessReader& reader() const { return reader_; }

 private:
  [[nodiscard]] bool read_all();
  ProcessReader reader_;
  pid_t top_;
  std::vector<Process> processes_{};
  std::unordered_set<pid_t> others_{};
  std::uint64_t reaped_cpu_ns_ = 0;
  std::uint64_t reaped_read_bytes_ = 0;
  std::uint64_t cpu_ns_ = 0;
  std::uint64_t most_read_bytes_ = 0;
  std::optional<std::uint64_t> read_bytes_{};
  std::int64_t without_io_ = 0;
};

}  // namespace stallcast::collect
