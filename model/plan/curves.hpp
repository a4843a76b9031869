/// How the machines of a plan scale: from the options that were answered to one line a machine.
///
/// Example. 1, 2, 4 and 8 nodes give 100, 195, 370 and 450 samples/s. From 4 to 8 each added node brings 20, which is
/// less than half of the 100 of one alone: scaling is worth its money up to 4 nodes.
#pragma once

#include <map>
#include <span>
#include <string>

#include "model/plan/plan.hpp"

namespace stallcast {

/// By machine and number of nodes, the option of the highest mean rate (the first of equals); into `options`.
using FastestOptions = std::map<std::string, std::map<int, const PlanOption*>>;
[[nodiscard]] FastestOptions fastest_by_nodes(std::span<const PlanOption> options);

/// Fills `worth_nodes` and `stops` from the points.
void say_where_it_stops(ScalingLine& line);

}  // namespace stallcast
