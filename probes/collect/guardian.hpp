/// Ends a phased run when its tool dies, however it dies: the training it does is worthless, and it holds memory.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "probes/collect/sentinel.hpp"

namespace stallcast::collect {

/// A sentinel: where the tool died, it kills every process of this user whose environment names the run folder, and
/// deletes the given folders. Movable.
class Guardian {
 public:
  /// Forks it. `run_folder` is what STALLCAST_RUN_DIR says in the job;
  /// `folders` are deleted.
  [[nodiscard]] static Result<Guardian> post(const std::filesystem::path& run_folder,
                                             const std::vector<std::filesystem::path>& folders);

 private:
  explicit Guardian(Sentinel sentinel) : sentinel_(std::move(sentinel)) {}
  Sentinel sentinel_;  ///< sent home at the end: the run is over and its folders are the tool's business
};

/// Processes of this user with `name=value` in their environment (`root`: a fake / in tests).
[[nodiscard]] std::vector<pid_t> processes_with(const std::filesystem::path& root, const std::string& name,
                                                const std::string& value);

}  // namespace stallcast::collect
