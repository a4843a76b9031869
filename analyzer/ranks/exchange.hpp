/// What ranks exchange in a step.
#pragma once

#include <vector>

#include "analyzer/profile/profile.hpp"
#include "analyzer/steps/rank_view.hpp"

namespace stallcast::sections {

/// What the ranks exchange in a step, as DistributedDataParallel timed it; `world`: ranks of the job.
[[nodiscard]] Exchange exchange_of(const std::vector<RankView>& ranks, int world);

}  // namespace stallcast::sections
