/// Rates and stalls by comparing blocks in different states.
#pragma once

#include <vector>

#include "analyzer/profile/profile.hpp"
#include "analyzer/steps/rank_view.hpp"

namespace stallcast::sections {

/// Rates and stalls from the blocks of phased launches, in place of the attributed ones. False if there were no blocks.
bool fill_differential(const std::vector<Launch>& launches, Profile& profile);

}  // namespace stallcast::sections
