/// Recordings in, profile out: the entry function of the analysis stage.
#pragma once

#include <filesystem>
#include <span>

#include "analyzer/load/run_data.hpp"
#include "analyzer/profile/profile.hpp"
#include "core/result.hpp"

namespace stallcast {

/// Rebuilds the profile of a run from its recordings alone (`folder`: the output folder, its recordings/, or a run
/// folder that a killed tool left behind; also what `stallcast merge` has put together of several nodes). A run in
/// which no loader was found still gives a profile: what could be seen from outside, and the reasons for the rest.
/// bad_input if there is nothing readable.
[[nodiscard]] Result<Profile> analyze(const std::filesystem::path& folder);

/// The same from a run that was loaded already.
[[nodiscard]] Profile analyze_run(const RunData& run);

/// The same from several launches of one command (at least one), each with phases of its own: job, machine and the
/// state as found are the first one's.
[[nodiscard]] Profile analyze_launches(std::span<const RunData> launches);

/// The same from the launches of one job on its nodes (at least one; `one_job` in analyzer/load/nodes.hpp says whether
/// they are that). Job and machine are those of the first rank.
[[nodiscard]] Profile analyze_nodes(std::span<const RunData> nodes);

}  // namespace stallcast
