/// What the job's loaders really were in a run: for whoever set something and must see whether it arrived.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/load/run_data.hpp"

namespace stallcast {

/// Steady steps of a rank from which it has a rate.
inline constexpr std::size_t k_fewest_steps = 4;

/// One consuming process and the loader that it trained with; -1: not known.
struct RankSeen {
  std::int64_t pid = 0;
  LoaderFacts loader{};
  std::int64_t fewest_workers = -1;  ///< worker processes of one pass, as they were started
  std::int64_t most_workers = -1;
  std::int64_t cpus = -1;  ///< that the process may run on (affinity)
};

/// Every consuming process with enough steady steps to be measured.
[[nodiscard]] std::vector<RankSeen> ranks_seen(const RunData& run);

}  // namespace stallcast
