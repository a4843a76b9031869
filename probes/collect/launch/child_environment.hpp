/// The environment that carries a run into the job's processes.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/data_issue.hpp"
#include "probes/collect/launch/installation.hpp"

namespace stallcast::collect {

using Variables = std::vector<std::pair<std::string, std::string>>;

struct ChildEnvironment {
  Variables added{};                ///< what differs from our own environment, in the order of `stallcast env`
  std::vector<DataIssue> issues{};  ///< what could not be carried
};

/// PYTHONPATH and LD_PRELOAD put ours first and keep what is there; STALLCAST_RUN_DIR and STALLCAST_CAPTURE_LIB name
/// the run; CUDA_INJECTION64_PATH has the driver load the GPU probe where the job has no injection of its own and
/// STALLCAST_GPU_PROBE asks for it. `own` holds "NAME=value" entries. A path that such a list cannot hold (blank or
/// colon) is an issue.
[[nodiscard]] ChildEnvironment child_environment(const std::vector<std::string>& own, const Installation& installation,
                                                 const std::filesystem::path& run_folder);

/// `own` with `added` replaced or appended, as "NAME=value" entries.
[[nodiscard]] std::vector<std::string> merged_environment(const std::vector<std::string>& own, const Variables& added);

/// This process's environment as "NAME=value" entries.
[[nodiscard]] std::vector<std::string> own_environment();

/// The value of `name` in `entries`; empty if it is not there.
[[nodiscard]] std::string variable(const std::vector<std::string>& entries, const std::string& name);

}  // namespace stallcast::collect
