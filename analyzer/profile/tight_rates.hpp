/// When the rates of a phased run are known well enough for it to end.
#pragma once

#include <vector>

#include "analyzer/profile/profile.hpp"
#include "probes/record/control.hpp"

namespace stallcast {

/// Whether the rate's 95 % interval lies within +- `target` (a share) of it. True of an absent one.
[[nodiscard]] bool is_tight(const MeasuredEstimate<SamplesPerSecond>& rate, double target);

/// Whether each rate has a 95 % interval within +- `target` (a share) of itself. Rates that are absent do not count:
/// they were not wanted, or further rounds do not cure what they lack; but those of phases that are `awaited` (cold,
/// cached, synthetic) do, of which no block could be run yet. A supply rate is what the loader could deliver,
/// and decides only whether it is the loader that limits the job: one that lies beyond the job's own rates with all of
/// its interval says so, however wide that is.
///
/// Worked example. Target 2 %. cold 206 +- 1, cached 207 +- 1, synthetic 213 +- 0.1 samples/s, supply 500 +- 30: true,
/// as supply is at least 470. With supply 220 +- 30 it is false.
[[nodiscard]] bool rates_are_tight(const Rates& rates, double target, const std::vector<record::Phase>& awaited = {});

/// Whether there is no cold rate, as in none of three rounds or more a cold block was cold: more of them cure nothing.
/// Not so where they show samples that were read for the first time, or found files in memory that others of the data
/// set may not be.
[[nodiscard]] bool cold_blocks_fail(const Profile& profile);

}  // namespace stallcast
