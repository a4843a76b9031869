#include "probes/collect/run/run_findings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "probes/collect/launch/command_facts.hpp"

namespace stallcast::collect {
namespace {

constexpr char k_marks_hint[] =
    "mark its batches: in Python `import stallcast` and `for batch in stallcast.wrap(loader)`, else the C API "
    "(stallcast/capture.h); PyTorch's DataLoader, tf.data and DALI need no marks";

DataIssue no_loader_issue() {
  return {"no-loader-found", Severity::warning, 1,
          "no process of the command took batches from a data loader that stallcast knows", k_marks_hint};
}

DataIssue stripped_issue() {
  return {"environment-stripped", Severity::warning, 1,
          "a Python process of the command was started without the variables that carry the recording",
          "pass them on: `stallcast env` prints them (srun --export=ALL, mpirun -x NAME, sudo -E)"};
}

}  // namespace

void log_missing_consumer(const WatchEnd& end, const std::vector<std::string>& command, const std::string& search_path,
                          ToolLog& log) {
  if (end.consumer_seen) return;
  std::vector<DataIssue> issues = command_obstacles(command, search_path);
  const bool known =
      std::any_of(issues.begin(), issues.end(), [](const DataIssue& issue) { return issue.id == "python-isolated"; });
  if (!end.isolating_flag.empty() && !known) issues.push_back(python_isolated_issue(end.isolating_flag));
  if (end.environment_stripped) issues.push_back(stripped_issue());
  for (const DataIssue& issue : issues) log.append(issue);
  log.append(no_loader_issue());
}

void log_losses(const WatchEnd& end, const record::ControlBlock& control, ToolLog& log) {
  const std::uint64_t refused = control.refused_blocks.load(std::memory_order_relaxed);
  if (refused > 0) {
    log.append(DataIssue{"recording-budget-exhausted", Severity::warning, static_cast<std::int64_t>(refused),
                         fmt::format("the recordings reached their limit of {} bytes", control.budget_bytes),
                         "raise it with --recording-budget, or measure a shorter run"});
  }
  if (end.without_io > 0) {
    log.append(DataIssue{"no-proc-io", Severity::warning, end.without_io,
                         "/proc/PID/io could not be read, so bytes from storage are not known",
                         "run as the user that owns the processes; containers may hide it"});
  }
  if (!end.left_behind.empty()) {
    log.append(DataIssue{"processes-left-running", Severity::info, static_cast<std::int64_t>(end.left_behind.size()),
                         fmt::format("still running when the command had ended: {}", fmt::join(end.left_behind, ", ")),
                         "stallcast does not end processes of a job; look for workers that were not shut down"});
  }
  if (log.lost_lines() > 0) {
    log.append(DataIssue{"tool-log-incomplete", Severity::warning, log.lost_lines(),
                         "lines of the tool's own log did not fit on the disk",
                         "set TMPDIR to a disk with free space"});
  }
}

}  // namespace stallcast::collect
