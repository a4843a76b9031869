/// Starting the command as env(1) would: our standard streams, our process group, nothing else of ours.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <span>
#include <string>
#include <vector>

namespace stallcast::collect {

/// Statuses of env(1).
inline constexpr int k_exit_wrapper_failed = 125;
inline constexpr int k_exit_not_executable = 126;
inline constexpr int k_exit_not_found = 127;

struct Launched {
  pid_t pid = -1;        ///< -1: not started
  int exit_code = 0;     ///< 125 to 127 if it was not
  std::string reason{};  ///< and why
};

/// Starts `command` (looked up on PATH) with `environment` ("NAME=value") and the signal mask `mask`. Orphans of the
/// command become children of this process from now on, so that their end is seen. `output_to_stderr`: what it writes
/// to its stdout goes where our stderr goes, so that our stdout is ours alone. `groups`: cgroup.procs of control
/// groups, open for writing, which the command, and nobody else, joins before it begins.
[[nodiscard]] Launched launch(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                              const sigset_t& mask, bool output_to_stderr = false, std::span<const int> groups = {});

}  // namespace stallcast::collect
