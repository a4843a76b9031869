/// Hardware of a run that the kernel limits, by control groups that the command alone joins.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/data_issue.hpp"
#include "core/result.hpp"
#include "probes/collect/emulation/kernel_groups.hpp"
#include "probes/collect/emulation/sentinel.hpp"

namespace stallcast::collect {

/// The groups of one run and the process that removes them after whoever lives in them, the tool or the job, whichever
/// dies first.
///
/// Storage is limited from the first batch on (begin()): a job's start reads hundreds of megabytes of libraries, which
/// says nothing of its data and would take minutes of a slow disk. A quota of CPU time holds from the start.
class KernelLimits {
 public:
  /// Makes "stallcast-<run id>" with the limits of `options`; groups of earlier dead runs are removed by the way.
  /// environment error where this machine or these permissions do not allow it: every limit is tried here.
  [[nodiscard]] static Result<KernelLimits> make(const EmulationOptions& options, const std::string& run_id);

  [[nodiscard]] const KernelPlan& plan() const { return groups_.plan(); }

  /// For launch().
  [[nodiscard]] const std::vector<int>& joins() const { return groups_.joins(); }

  /// From now on storage is limited.
  void begin();

  /// What was read is counted from begin() on. Before it, `begun` is false where storage is to be limited.
  [[nodiscard]] GroupReadings read() const;

 private:
  KernelLimits(Sentinel sentinel, KernelGroups groups) : sentinel_(std::move(sentinel)), groups_(std::move(groups)) {}
  Sentinel sentinel_;
  KernelGroups groups_;
  GroupReadings before_{};  ///< as begin() found it
  bool begun_ = false;
};

/// Makes and removes such groups, to see whether it can be done; what they would limit, in words.
[[nodiscard]] Result<std::string> try_kernel_limits(const EmulationOptions& options);

/// The line of tool.jsonl: what was limited and, with `readings`, what the kernel says of it.
[[nodiscard]] std::string to_line(const EmulationOptions& options, const KernelPlan& plan,
                                  const GroupReadings* readings);

/// Where the limits do not hold: asked when the command has ended.
[[nodiscard]] std::vector<DataIssue> issues_of(const KernelPlan& plan, const GroupReadings& readings);

}  // namespace stallcast::collect
