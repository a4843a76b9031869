/// What a step and a sample cost: time, CPU, memory.
#pragma once

#include <vector>

#include "analyzer/profile/profile.hpp"
#include "analyzer/stalls/attribution.hpp"
#include "analyzer/steps/rank_view.hpp"

namespace stallcast::sections {

/// Step, compute, wait, per-sample costs, CPU of the tree, memory, distributions.
/// `machines`: one a node.
[[nodiscard]] Resources resources_of(Nodes nodes, const std::vector<RankView>& ranks,
                                     const std::vector<ReplayMachine>& machines);

}  // namespace stallcast::sections
