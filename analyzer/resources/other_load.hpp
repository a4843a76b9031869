/// Who used the machine's cores: the job, and others.
#pragma once

#include "analyzer/profile/profile.hpp"
#include "analyzer/steps/rank_view.hpp"

namespace stallcast::sections {

/// Cores that the job's processes kept busy while it ran as found: CPU time by wall time, pauses and evaluation
/// included. Of all machines.
[[nodiscard]] Measured<double> job_cpus(Nodes nodes);

/// Cores of a machine that were neither idle nor the job's (nor the tool's) while it ran as found; mean of all
/// machines.
[[nodiscard]] Measured<double> other_cpus(Nodes nodes);

}  // namespace stallcast::sections
