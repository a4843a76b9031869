/// Who ran what: the job and its ranks.
#pragma once

#include <string>
#include <vector>

#include "analyzer/profile/profile.hpp"
#include "analyzer/steps/rank_view.hpp"

namespace stallcast::sections {

/// Job facts from the first rank's loader and descriptions.
[[nodiscard]] Job job_of(Nodes nodes, const std::vector<RankView>& ranks);

/// Rank table: deliveries, rate and wait share of each.
[[nodiscard]] std::vector<Rank> ranks_of(const std::vector<RankView>& ranks);

/// In words: "12.3 ms".
[[nodiscard]] std::string milliseconds(double seconds);

/// Whether the rank's torch could use a GPU, and gave it work as far as a probe was there to see.
[[nodiscard]] bool uses_cuda(const RankView& rank);

}  // namespace stallcast::sections
