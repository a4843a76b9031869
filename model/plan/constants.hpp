/// What this room takes for much and little, with what set it.
#pragma once

namespace stallcast {

// curves.cpp
/// of what one node brings alone. Chosen: nodes that bring less than half of it each are said not to be worth it
inline constexpr double k_node_worth_share = 0.5;

// plan.cpp
/// workers of a rank. Chosen: one a core as far as this, as the search of a loader goes (model/recommend)
inline constexpr int k_most_planned_workers = 64;

// catalog.cpp. Chosen: a plan asks the model for every machine and number of nodes, and its table must be read.
inline constexpr std::size_t k_most_machines = 1000;  ///< kinds of a catalogue
inline constexpr int k_most_gpus = 1024;              ///< of a machine, as k_most_ranks_of_node

}  // namespace stallcast
