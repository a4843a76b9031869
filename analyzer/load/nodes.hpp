/// Recordings that tools left on several nodes (or several on one), as one job: what belongs together, what does not,
/// and what cannot be compared.
#pragma once

#include <string>
#include <vector>

#include "analyzer/load/run_data.hpp"
#include "core/result.hpp"

namespace stallcast {

/// Makes the launches of one job out of `nodes` (at least one, each with a name of its own): numbers their machines,
/// orders them by the ranks that they hold, and gives launches on one machine a share each of the cores that they may
/// use together.
/// bad_input, with both names, if two are the same run, are of different jobs (by what the launcher calls it, the
/// number of ranks, or the command), hold the same rank, or if one was recorded with phases or emulated hardware.
[[nodiscard]] Result<std::vector<RunData>> one_job(std::vector<RunData> nodes);

/// Adds to the first one's issues what a reader should know of them: clocks, numbers of ranks. `nodes`: of one_job.
void note_job(std::vector<RunData>& nodes);

/// The command without what differs from node to node: values of options that number a node or a rank, or that are its
/// own address. Worked example. "torchrun --nnodes 2 --node-rank=1 train.py" -> "torchrun --nnodes 2 --node-rank=
/// train.py".
[[nodiscard]] std::vector<std::string> command_of_any_node(const std::vector<std::string>& command);

}  // namespace stallcast
