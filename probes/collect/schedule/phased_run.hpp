/// What a measured run needs besides the schedule: files held in memory, and somebody who tells when it is enough.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/data_issue.hpp"
#include "core/result.hpp"
#include "probes/collect/launch/run_folder.hpp"
#include "probes/collect/schedule/phase_schedule.hpp"
#include "probes/collect/schedule/recorded_files.hpp"

namespace stallcast::collect {

/// What has been recorded so far, by its estimates.
struct EstimatesSoFar {
  bool tight = false;       ///< as wanted
  bool cold_fails = false;  ///< of several cold blocks none counts, as none was cold
};

struct PhasedOptions {
  PhaseWants wants{};  ///< wants.stop: the command is ended once it was measured
  record::Evict evict = record::Evict::own;
  /// Of what was recorded so far, in the given folder. Asked after complete rounds, on a thread of its own; empty: the
  /// budget alone ends the measuring.
  std::function<EstimatesSoFar(const std::filesystem::path& run_folder)> estimate{};
  std::function<void(const PhaseProgress&)> on_progress{};  ///< about once a second, until measuring is over
  /// Once, on a thread of its own, when every rank has let go or waits to be ended. Not called where the command ended
  /// before that.
  std::function<void(const std::filesystem::path& run_folder)> on_measured{};
};

/// Lives from before the command starts until after it ended. Its death at any instant leaves the job running.
class PhasedRun {
 public:
  [[nodiscard]] static Result<std::unique_ptr<PhasedRun>> begin(const RunFolder& folder, const PhasedOptions& options);

  ~PhasedRun();
  PhasedRun(const PhasedRun&) = delete;
  PhasedRun& operator=(const PhasedRun&) = delete;

  /// Ten times a second while the command runs.
  void beat(std::uint64_t now_ns);

  /// Whether the command is to be ended now: that was asked for, and it was measured.
  [[nodiscard]] bool wants_stop(std::uint64_t now_ns) const;

  /// Nothing is asked or held any more; waits for our own threads.
  void command_ended();

  [[nodiscard]] const std::vector<DataIssue>& issues() const { return issues_; }

  /// What kept states from being made as planned; asked when the command has ended.
  [[nodiscard]] std::vector<DataIssue> issues_at_end() const;

 private:
  PhasedRun(const RunFolder& folder, const PhasedOptions& options);
  void ask_for_estimates();
  void tell_when_over(std::uint64_t now_ns);
  [[nodiscard]] bool is_over(std::uint64_t now_ns);

  PhasedOptions options_;
  record::ControlBlock& control_;
  std::unique_ptr<RecordedFiles> files_;
  PhaseSchedule schedule_;
  std::filesystem::path run_folder_;
  std::thread asking_{};
  std::thread telling_{};
  std::atomic<bool> asked_{false};  ///< a question is under way
  std::atomic<bool> is_enough_{false};
  std::atomic<bool> cold_fails_{false};
  std::atomic<bool> told_{false};  ///< on_measured has returned
  bool over_ = false;
  int rounds_asked_ = 0;
  std::uint64_t next_progress_ns_ = 0;
  std::uint64_t refused_ns_ = 0;  ///< when a loader was seen that no states can be made of
  std::vector<DataIssue> issues_{};
};

}  // namespace stallcast::collect
