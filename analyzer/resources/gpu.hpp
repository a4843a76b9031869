/// What GPUs did in the steps.
#pragma once

#include <vector>

#include "analyzer/profile/profile.hpp"
#include "analyzer/steps/rank_view.hpp"

namespace stallcast::sections {

/// What the ranks' GPUs did in the steps as found. Every figure is absent with the reason where CUPTI told nothing.
[[nodiscard]] Gpu gpu_of(const std::vector<RankView>& ranks, double batches_per_step);

}  // namespace stallcast::sections
