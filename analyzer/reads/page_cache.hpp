/// What the page cache served, epoch by epoch as found.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/profile/profile.hpp"
#include "analyzer/steps/rank_view.hpp"

namespace stallcast::sections {

/// Hits of the page cache, epoch by epoch as found. `dataset` and `resources` of the same run say what would fit.
/// Absent for several nodes: each has a page cache of its own.
[[nodiscard]] PageCache page_cache_of(Nodes nodes, const std::vector<RankView>& ranks, const Dataset& dataset,
                                      const Resources& resources);

/// An epoch and when it was, on the clock of its node.
struct EpochSeen {
  CacheEpoch cache{};
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
};

/// Every epoch as found of which it can be told where its bytes came from, parts of one among them; `fewest_ticks`
/// readings of /proc lie in each. None where an evaluation within them read files as well.
[[nodiscard]] std::vector<EpochSeen> epochs_seen(Nodes nodes, const std::vector<RankView>& ranks,
                                                 std::int64_t fewest_ticks);

/// Warns where less came from memory than any policy would have kept there. Nothing to say without measured hits.
void check_page_cache(const PageCache& cache, std::vector<DataIssue>& issues);

}  // namespace stallcast::sections
