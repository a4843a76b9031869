/// One pass of a job, played through step by step with the making of every batch kept: what a recording would hold.
///
/// Independent of simulation/ on purpose (every event looks at every thread); the tests hold the two against each
/// other.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "simulation/loader.hpp"

namespace stallcast::synthetic {

/// How one batch was made.
struct Making {
  double begin_s = 0.0;
  double end_s = 0.0;
  double run_delay_s = 0.0;  ///< ready to compute, without a core
  std::size_t worker = 0;
};

/// One delivery, in order of time.
struct Handed {
  std::size_t batch = 0;  ///< its number; differs from its place when not in order
  double asked_s = 0.0;
  double delivered_s = 0.0;
  double step_delay_s = 0.0;  ///< of the step that follows: ready to compute, without a core
  std::size_t ready = 0;      ///< batches that lay ready when it was asked for
};

struct PlayedPass {
  std::vector<Making> made{};  ///< by batch number
  std::vector<Handed> handed{};
  double end_s = 0.0;
};

/// Plays a pass that begins at 0. Workers are there from `workers_from_s` on. work.size() == steps.size().
[[nodiscard]] PlayedPass play_pass(const simulation::LoaderSetup& setup, double cores, double workers_from_s,
                                   std::span<const simulation::BatchWork> work,
                                   std::span<const simulation::StepWork> steps);

}  // namespace stallcast::synthetic
