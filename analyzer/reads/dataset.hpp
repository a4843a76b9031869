/// The data set as the job's own reads show it.
#pragma once

#include <vector>

#include "analyzer/profile/profile.hpp"
#include "analyzer/steps/rank_view.hpp"

namespace stallcast::sections {

/// Files, bytes, sizes, layout, from the job's own reads.
[[nodiscard]] Dataset dataset_of(Nodes nodes, const std::vector<RankView>& ranks);

}  // namespace stallcast::sections
