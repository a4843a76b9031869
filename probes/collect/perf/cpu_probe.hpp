/// Where a job's CPU time goes: samples and counters of the command and of everything that it starts, from outside and
/// from its first instruction on.
///
///   launch()   a thread of its own opens the events, starts the command, and sleeps: what it has opened the command
///      |       inherits; nothing of the tool itself is counted
///      v
///   beat()     ten times a second: rings -> perf_record -> cpu_samples (address_spaces says what lies where)
///      v
///   finish()   symbols: addresses to names; a record::CpuRecording beside the recordings
///
/// Where the kernel refuses, the recording says why, and the run goes on without. The death of the tool closes the
/// events and changes nothing for the job.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/data_issue.hpp"
#include "core/result.hpp"
#include "probes/collect/launch/launch.hpp"
#include "probes/collect/perf/cpu_samples.hpp"
#include "probes/collect/perf/perf_event.hpp"

namespace stallcast::collect {

class CpuProbe {
 public:
  CpuProbe() = default;
  ~CpuProbe();
  CpuProbe(const CpuProbe&) = delete;
  CpuProbe& operator=(const CpuProbe&) = delete;

  /// Starts the command with `start`, which runs on another thread, and returns what that returned. Once.
  [[nodiscard]] Launched launch(const std::function<Launched()>& start);

  /// While the command runs.
  void beat(std::uint64_t now_ns);

  /// Samples or not, with the recording switch: so that overhead pairs price both.
  void set_recording(bool on);

  /// When the command has ended: writes `folder`/cpu_samples. What was impaired comes back as issues.
  [[nodiscard]] std::vector<DataIssue> finish(const std::filesystem::path& folder, const std::string& run_id);

 private:
  void open_all();
  void read_counters(std::uint64_t now_ns);

  std::thread thread_{};  ///< has the events; sleeps
  std::mutex lock_{};
  std::condition_variable changed_{};
  bool launched_ = false;
  bool over_ = false;
  PerfCounters counters_{};
  std::vector<PerfRing> rings_{};
  CpuSamples samples_{};
  record::CpuRecording recording_{};
  std::uint64_t damaged_ = 0;
  std::uint64_t started_realtime_ns_ = 0;
  std::uint64_t next_reading_ns_ = 0;
  std::uint64_t reading_every_ns_ = 1'000'000'000ULL;
  bool sampling_ = true;
};

}  // namespace stallcast::collect
