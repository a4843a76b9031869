/// The run over time: steps as found, then the blocks of a measured run and the steps in them.
#pragma once

#include <cstddef>
#include <vector>

#include "analyzer/profile/profile.hpp"
#include "analyzer/steps/rank_view.hpp"

namespace stallcast::sections {

/// Steps as found over time, thinned to at most `most_rows` rows that keep sums and extremes.
[[nodiscard]] std::vector<TimelineRow> timeline_of(const std::vector<RankView>& ranks, std::size_t most_rows);

/// The stretches of a phased run as `rank` went through them, and the steps in them after those as found, thinned
/// likewise; a row ends with its stretch, so there may be as many rows more. Changes nothing in a passive run.
void add_phases(const RunData& run, const RankView& rank, std::size_t most_rows, Profile& profile);

}  // namespace stallcast::sections
