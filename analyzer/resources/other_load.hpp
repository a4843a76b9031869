/// Who else used the machine's cores.
#pragma once

#include "analyzer/profile/profile.hpp"
#include "analyzer/steps/rank_view.hpp"

namespace stallcast::sections {

/// Cores of a machine that were neither idle nor the job's (nor the tool's) while it ran as found; mean of all
/// machines.
[[nodiscard]] Measured<double> other_cpus(Nodes nodes);

}  // namespace stallcast::sections
