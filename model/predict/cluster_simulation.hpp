/// The job on a cluster, played batch by batch (simulation/cluster.hpp): beside the closed form's answer, what it
/// cannot say. How caches warm up, how far ranks are apart, what the slowest steps take, what losing a node's cache
/// costs.
#pragma once

#include "core/result.hpp"
#include "model/predict/predict.hpp"
#include "model/predict/recursion.hpp"
#include "model/setting/setting.hpp"
#include "simulation/cluster.hpp"

namespace stallcast {

struct MappedCluster {
  simulation::Cluster cluster{};
  double one_rank_off =
      0.0;  ///< that one rank alone takes longer in it than by the recursion, relative; 0: near enough
};

/// The simulation's input for `setting` of `job`: means as the closed form has them, spread as measured, and what the
/// recursion was fitted to. Errors: usage where the scenario asks for what is not simulated or would not fit (with the
/// numbers), not_enough_data where the size of the data set was not measured.
[[nodiscard]] Result<MappedCluster> cluster_of(const JobModel& job, const Scenario& scenario, const Setting& setting,
                                               const Parameters& parameters, StallCurves& curves,
                                               const Recursion& recursion, const SimulationAsk& ask);

/// Plays it, and holds the result against `closed`, the closed form's answer to the same scenario. `receiving_s`: of a
/// step, receiving a batch that is ready, which counts as waiting.
[[nodiscard]] SimulatedCluster simulate_cluster(const MappedCluster& mapped, const Setting& setting, double receiving_s,
                                                const Prediction& closed);

}  // namespace stallcast
