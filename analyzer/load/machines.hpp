/// Which launches of a job ran on one machine, and what of it each of them had.
#pragma once

#include <optional>
#include <vector>

#include "analyzer/load/run_data.hpp"

namespace stallcast {

/// When the run's machine was started, in seconds of its own clock of the day: the same for all that it recorded.
/// Absent where the recordings do not show both clocks.
[[nodiscard]] std::optional<double> boot_s(const RunData& run);

/// Fills RunData::machine. Machines that are called alike (localhost) differ in when they were started.
void number_machines(std::vector<RunData>& nodes);

/// Launches on one machine have its cores together: each gets a share of those that they may use (log.host).
void share_machines(std::vector<RunData>& nodes);

}  // namespace stallcast
