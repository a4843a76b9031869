/// The machine as the replay of a run sees it.
#pragma once

#include <cstddef>
#include <vector>

#include "analyzer/stalls/attribution.hpp"
#include "analyzer/steps/rank_view.hpp"

namespace stallcast::sections {

/// What the machine tells the replay (`ranks`: on its host): cores per rank, cost of resident reads, the consumer's run
/// delay, and what share of the bytes came from storage.
[[nodiscard]] ReplayMachine replay_machine(const RunData& run, const std::vector<RankView>& all, std::size_t ranks);

}  // namespace stallcast::sections
