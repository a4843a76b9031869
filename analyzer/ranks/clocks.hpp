/// How the clocks of machines differ whose ranks end their steps together.
#pragma once

#include <vector>

#include "analyzer/profile/profile.hpp"
#include "analyzer/steps/rank_view.hpp"

namespace stallcast::sections {

/// Fills in how the ranks' clocks differ and whose batches come last, where they end their steps together.
void align_ranks(const std::vector<RankView>& ranks, std::vector<Rank>& rows);

}  // namespace stallcast::sections
