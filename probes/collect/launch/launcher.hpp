/// Whether this tool is alone with its job, or one of several that a launcher has started for it.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace stallcast::collect {

/// One tool among several.
struct LauncherTask {
  std::string reason{};       ///< what says so: "SLURM_STEP_NUM_TASKS=16"
  std::optional<int> task{};  ///< its number among them; absent: nobody says
};

/// Set if `environment` ("NAME=value" entries) says that this tool is one of several ranks or tasks (srun, mpirun, or a
/// launcher that sets RANK and WORLD_SIZE, started around stallcast), or if `command` starts a launcher that is to run
/// on several nodes, on each of which somebody starts it (torchrun --nnodes, accelerate --num_machines).
[[nodiscard]] std::optional<LauncherTask> one_of_several(const std::vector<std::string>& environment,
                                                         const std::vector<std::string>& command);

/// "NAME=value" by which the launcher names the job (record/launcher.hpp); empty: it does not.
[[nodiscard]] std::string job_name(const std::vector<std::string>& environment);

/// The folder that one of several tools writes to below the one that all were given: "node7-3", or "node7" for a task
/// without a number. Letters, digits, '.', '_' and '-' only.
[[nodiscard]] std::string part_name(const std::string& host, const LauncherTask& task);

/// Where all of them write to if the user does not say: "stallcast-profile-JOB".
[[nodiscard]] std::string shared_folder_name(const std::vector<std::string>& environment);

}  // namespace stallcast::collect
