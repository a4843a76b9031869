/// Rates and stalls of the run as found, by replaying it without what it waited for.
#pragma once

#include <vector>

#include "analyzer/profile/profile.hpp"
#include "analyzer/stalls/attribution.hpp"
#include "analyzer/steps/rank_view.hpp"

namespace stallcast::sections {

/// Rates, stalls and points: the measured state as found, and the attributed ones.
/// `machines`: one a node.
void fill_rates_and_stalls(const std::vector<RankView>& ranks, const std::vector<ReplayMachine>& machines,
                           Profile& profile);

}  // namespace stallcast::sections
