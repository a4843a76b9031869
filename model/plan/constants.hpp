/// What this room takes for much and little, with what set it.
#pragma once

namespace stallcast {

// curves.cpp
/// of what one node brings alone. Chosen: nodes that bring less than half of it each are said not to be worth it
inline constexpr double k_node_worth_share = 0.5;

// plan.cpp
/// workers of a rank. Chosen: one a core as far as this, as the search of a loader goes (model/recommend)
inline constexpr int k_most_planned_workers = 64;

}  // namespace stallcast
