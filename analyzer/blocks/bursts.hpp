/// What a hold and a burst tell.
///
/// **The burst**: batches that lay ready while no worker is given anything. A step is then what the script does with a
/// batch, from having it to asking for the next: `synthetic`. What it takes to take a batch over is left out, of the
/// time as of the CPU time.
///
/// Worked example. The script is let go at 0, has batches at 1, 42 and 83 ms and asks again at 41, 82 and 122 ms: 40 +
/// 40 + 39 ms for 3 batches.
///
/// **The hold**: the script rests, and batches are made as fast as the loader can: `supply`. Those that were begun and
/// handed over in the hold took its workers so long, one beside the other: seconds for their samples are the sum of
/// these times over the number of workers. A worker that has made what it was given rests, and leaves cores and storage
/// to the others; where the hold began with an empty queue, what all of them made until the first of them rested is
/// taken instead (blocks/production.hpp).
///
/// Worked example, 2 workers x prefetch 2, batches of 8. All four are begun in the hold: worker 0 takes 100 and 100 ms,
/// worker 1 100 and 120 ms. Until 200 ms worker 1 has made 1 + 100 / 120 batches: 30.7 samples in 200 ms. Had only its
/// second one been begun in the hold: 8 samples in 60 ms, which are too few to tell.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/blocks/sums.hpp"

namespace stallcast {

/// A synthetic segment as it went in one pass.
struct BurstView {
  const Pass& pass;
  const SegmentRun& run;
  const BurstRun* burst = nullptr;  ///< nullptr: its text is missing
  const LoaderFacts& loader;
};

/// What its burst tells. `interruptions`: times at which the script did something else than steps, in order.
[[nodiscard]] PhaseBlock synthetic_block(const BurstView& view, const std::vector<std::uint64_t>& interruptions);

/// What its hold tells; the batches are made cold or cached.
[[nodiscard]] PhaseBlock supply_block(const BurstView& view, const BlockEvidence& evidence);

/// Without workers nobody is held: what the steps and the makings of a block tell, as synthetic and, where it is a cold
/// or a cached one, as supply. `deliveries`: of the block.
[[nodiscard]] std::vector<PhaseBlock> blocks_beside(std::span<const Delivery> deliveries, const SegmentRun& run,
                                                    const LoaderFacts& loader,
                                                    const std::vector<std::uint64_t>& interruptions,
                                                    const BlockEvidence& evidence);

}  // namespace stallcast
