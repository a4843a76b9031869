/// The ranks of a job with their steady steps, launch by launch: what every part of a profile is made from.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "analyzer/load/run_data.hpp"
#include "analyzer/steps/steady.hpp"

namespace stallcast::sections {

/// One consumer with its steady steps.
struct RankView {
  const Consumer* consumer = nullptr;
  SteadyWindow window{};
  const RunData* run = nullptr;  ///< that it is in
  std::size_t node = 0;          ///< number of that run among the profile's nodes
};

/// One launch of the command with its ranks. A profile is made of one, of one a node, or with --strategy separate of
/// one a phase.
struct Launch {
  const RunData* run = nullptr;
  std::vector<RankView> ranks{};
};

/// The launches that ran at the same time as one job, one or more on each machine. Their clocks differ: what is taken
/// from times of one is never set against times of another, but by align_ranks.
using Nodes = std::span<const Launch>;

/// The recordings of all processes, node by node.
[[nodiscard]] std::vector<const record::ProcessRecording*> processes_of(Nodes nodes);

}  // namespace stallcast::sections
