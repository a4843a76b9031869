/// What recording the run cost it.
#pragma once

#include "analyzer/profile/profile.hpp"
#include "analyzer/steps/rank_view.hpp"

namespace stallcast::sections {

/// Cost of the recording, from the tool's on/off stretches. Several tools switch at times of their own, and ranks in
/// step wait for each other: what that costs the rate is not known then, what it costs in CPU time is.
[[nodiscard]] Overhead overhead_of(Nodes nodes);

}  // namespace stallcast::sections
