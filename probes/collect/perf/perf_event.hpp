/// perf_event_open(2): events that follow a command and everything that it starts.
///
/// All are opened for the calling thread, switched off, with `inherit` and `enable_on_exec`: a child that this thread
/// starts counts from its exec on, before its first instruction, and its descendants with it. The calling thread never
/// counts. Only a thread that does nothing else should open them (perf/cpu_probe.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "probes/record/cpu_recording.hpp"

namespace stallcast::collect {

/// Counters of a tree of processes; they add up over it. Per process they would need a buffer for each of them on each
/// CPU, and a record at every end: samples say whose CPU time it is at no such cost, and /proc the rest.
class PerfCounters {
 public:
  PerfCounters() = default;
  ~PerfCounters();
  PerfCounters(const PerfCounters&) = delete;
  PerfCounters& operator=(const PerfCounters&) = delete;

  /// Opens what this kernel and machine have; `kernel`: what happens in the kernel counts.
  void open(bool kernel);

  /// As they were opened, or why not.
  [[nodiscard]] const std::vector<record::CpuCounter>& counters() const { return counters_; }
  [[nodiscard]] record::CpuReading read(std::uint64_t now_ns) const;

 private:
  std::vector<record::CpuCounter> counters_{};
  std::vector<int> files_{};  ///< -1: not open
};

/// A sampling event of one CPU and the ring that the kernel writes its records to.
class PerfRing {
 public:
  /// Samples every `period_ns` of a thread's CPU time on `cpu` (cpu-clock: works where there is no PMU, and time is
  /// what is asked for). A second event (dummy) tells of mappings and processes, so that nothing is missed while
  /// sampling is switched off. Nothing for a CPU that is not there.
  [[nodiscard]] static Result<std::optional<PerfRing>> open(int cpu, std::uint64_t period_ns, bool kernel,
                                                            std::size_t pages);
  PerfRing(PerfRing&& other) noexcept;
  PerfRing& operator=(PerfRing&&) = delete;
  PerfRing(const PerfRing&) = delete;
  PerfRing& operator=(const PerfRing&) = delete;
  ~PerfRing();

  /// Records since the last call. Counts a ring that was damaged as one lost record.
  std::uint64_t drain(const std::function<void(std::span<const std::byte>)>& take);

  /// Of all processes that inherited it.
  void sample(bool on) const;

 private:
  PerfRing() = default;
  bool map(std::size_t pages);
  int facts_ = -1;    ///< mappings, names, forks and exits
  int samples_ = -1;  ///< writes to the ring of `facts_`
  std::byte* memory_ = nullptr;
  std::size_t bytes_ = 0;  ///< of the ring and the page before it
};

/// Whether sampling and counting may be had, and whether of the kernel, too. Opens and closes an event of its own.
struct PerfPermission {
  bool user = false;
  bool kernel = false;
  int reason = 0;  ///< errno of the refusal
};
[[nodiscard]] PerfPermission ask_perf();

/// Why there are no samples, and the setting that would change that.
[[nodiscard]] Error perf_refusal(int reason);

}  // namespace stallcast::collect
