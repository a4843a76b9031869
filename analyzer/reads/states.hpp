/// States of a run: epochs whose bytes came from another place than those before them, or whose samples took another
/// time to make. A first epoch from storage and later ones from memory are two jobs; their mean is neither.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/profile/profile.hpp"
#include "analyzer/steps/rank_view.hpp"

namespace stallcast {

/// Consecutive epochs of all ranks in one state. CLOCK_MONOTONIC of the node.
struct StateSpan {
  std::int64_t first_epoch = 1;
  std::int64_t last_epoch = 1;
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  double making_s = -1.0;  ///< for a sample, its reads apart; negative: not what the states differ in
};

/// The states that a passive run went through, in order; empty where it was one all along, or where that is not known
/// (several nodes, phases, epochs too short to tell where their bytes came from).
///
/// Worked example. Epochs of 132 MB took 130, 0.4 and 0 MB from storage: epoch 1 is one state, epochs 2 and 3 the next.
[[nodiscard]] std::vector<StateSpan> states_of(sections::Nodes nodes, const std::vector<sections::RankView>& ranks);

/// The states of a run of one node, passive or measured, by how long its samples took to make (steps/makings.hpp).
[[nodiscard]] std::vector<StateSpan> states_by_making(sections::Nodes nodes,
                                                      const std::vector<sections::RankView>& ranks);

/// The run as if it had been recorded in that span alone: passes and readings of /proc outside it are left out.
[[nodiscard]] RunData within(const RunData& run, const StateSpan& span);

/// Puts the profiles of each state of a run (`of_states`, in order, one for each of `spans`) into that of the whole:
/// the last state is the job as found; where an earlier one read everything from storage, it is the cold rate.
void join_states(const std::vector<StateSpan>& spans, const std::vector<Profile>& of_states, Profile& profile);

/// Says that samples took another time to make. `told`: what is told as found is of the last of the states alone.
void note_makings(const std::vector<StateSpan>& spans, bool told, std::vector<DataIssue>& issues);

}  // namespace stallcast
