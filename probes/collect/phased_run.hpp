/// What a phased run needs besides the schedule: a stage in memory, a guardian, and a job that keeps nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/data_issue.hpp"
#include "core/result.hpp"
#include "probes/collect/guardian.hpp"
#include "probes/collect/phase_schedule.hpp"
#include "probes/collect/run_folder.hpp"

namespace stallcast::collect {

struct PhasedOptions {
  PhaseWants wants{};
  record::Evict evict = record::Evict::own;
  /// Whether what was recorded so far (in the given folder) is as tight as wanted. Asked after each complete round, on
  /// a thread of its own; empty: the budget alone ends the run.
  std::function<bool(const std::filesystem::path& run_folder)> enough{};
  std::function<void(const PhaseProgress&)> on_progress{};  ///< about once a second
};

/// Lives from before the command starts until after it ended. Deletes its stage at its end.
class PhasedRun {
 public:
  /// Makes the stage (a folder in memory, 0700) and posts the guardian. Without a place in memory the stage is left
  /// out and `issues()` says so: cached blocks then depend on the page cache.
  [[nodiscard]] static Result<std::unique_ptr<PhasedRun>> begin(const RunFolder& folder, const PhasedOptions& options);

  ~PhasedRun();
  PhasedRun(const PhasedRun&) = delete;
  PhasedRun& operator=(const PhasedRun&) = delete;

  /// Ten times a second while the command runs.
  void beat(std::uint64_t now_ns);

  /// True once the job is to be ended: its ranks have all left and whoever started them stays (is_over), or it is so
  /// far beyond its budget that it cannot be expected to come to its end.
  [[nodiscard]] bool must_end(std::uint64_t now_ns);

  /// Whether every rank came to the end of the run, however what started them ended.
  [[nodiscard]] bool ranks_have_left() const { return schedule_.ranks_have_left(); }

  [[nodiscard]] const std::vector<DataIssue>& issues() const { return issues_; }

  /// What kept phases from being run as planned; asked when the command has ended.
  [[nodiscard]] std::vector<DataIssue> issues_at_end() const;

  /// Variables that keep the job from telling anyone about this run: experiment trackers offline.
  [[nodiscard]] static std::vector<std::pair<std::string, std::string>> variables(
      const std::filesystem::path& run_folder);

 private:
  PhasedRun(const RunFolder& folder, const PhasedOptions& options);
  void make_stage(record::ControlBlock& control, const std::string& run_id);
  void ask_for_enough();

  PhasedOptions options_;
  PhaseSchedule schedule_;
  std::filesystem::path run_folder_;
  std::thread asking_{};
  std::atomic<bool> asked_{false};  ///< a question is under way
  std::atomic<bool> is_enough_{false};
  int rounds_asked_ = 0;
  std::uint64_t next_progress_ns_ = 0;
  std::filesystem::path stage_{};
  std::vector<DataIssue> issues_{};
  bool over_ = false;
  std::string hung_{};  ///< what was seen of a job that had to be ended
  std::unique_ptr<Guardian> guardian_{};
};

}  // namespace stallcast::collect
