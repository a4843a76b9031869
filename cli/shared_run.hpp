/// A profile that several tools make together: a launcher has started one on each node, or for each rank.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "probes/collect/launch/launcher.hpp"

namespace stallcast::cli {

struct SharedRun {
  collect::LauncherTask task{};
  std::filesystem::path folder{};  ///< of all of them
  std::filesystem::path part{};    ///< this tool's own, below it
};

/// Set if this tool is one of several for `command`. `output`: as the user gave it, empty where not. The shared folder
/// is created (mode 0700), the part is not. environment error if it cannot be.
[[nodiscard]] Result<std::optional<SharedRun>> shared_run(const std::string& output,
                                                          const std::vector<std::string>& command);

/// The first task, or one without a number, speaks for all.
[[nodiscard]] bool speaks(const SharedRun& run);

/// Why phases are refused, and what to do instead.
[[nodiscard]] Error phases_refused(const SharedRun& run);

/// Likewise for the end of the command once it is measured.
[[nodiscard]] Error stop_refused(const SharedRun& run);

}  // namespace stallcast::cli
