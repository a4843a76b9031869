/// The steps that estimates are made from: the training loader's, in steady state.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/load/run_data.hpp"

namespace stallcast {

/// From the delivery of one batch to the delivery of the next: the consumer computes, then waits.
struct SteadyStep {
  std::uint64_t begin_ns = 0;  ///< delivery of the batch before
  std::uint64_t end_ns = 0;    ///< delivery of this one
  double compute_s = 0.0;
  double wait_s = 0.0;               ///< for batches of all loaders that it takes from
  double sampler_s = 0.0;            ///< of compute_s: choosing a batch within next()
  double samples = 0.0;              ///< of the batch delivered at the end; 0 if not known
  double consumer_cpu_s = -1.0;      ///< CPU time of the consuming process in the step; negative if not known
  std::uint32_t ready = UINT32_MAX;  ///< batches that lay ready when the consumer asked
  bool beside_another = false;       ///< another loader was iterated within it
  const Delivery* delivery = nullptr;

  [[nodiscard]] double step_s() const { return compute_s + wait_s; }
};

/// Steps on batches that the script had been given before: it keeps them (itertools.cycle), and no longer asks.
struct GivenAgain {
  std::int64_t steps = 0;       ///< optimizer steps in all; 0: there are none such
  std::int64_t deliveries = 0;  ///< by the loader
  double seconds = 0.0;         ///< from the first delivery to the last step, without what a measurement held back
  double wait_s = 0.0;          ///< of that
  double samples = 0.0;         ///< of one delivery
};

/// A loader that each step takes from beside the training loader, or that takes turns with it.
struct OtherLoader {
  LoaderFacts facts{};
  double wait_s = 0.0;     ///< of all steps together
  std::int64_t steps = 0;  ///< on its batches, where it takes turns
};

/// What was chosen of one consumer, and what was left out.
struct SteadyWindow {
  LoaderFacts loader{};
  std::vector<const Pass*> passes{};  ///< over the training loader; they live with the consumer
  int loaders_seen = 0;
  std::vector<SteadyStep> steps{};
  std::int64_t deliveries = 0;         ///< of the training loader, all of them
  std::vector<SteadyStep> traced{};    ///< while the GPU was being traced: not among `steps`, as that takes time
  std::int64_t warm_up_steps = 0;      ///< left out because the job was still getting up to speed
  std::int64_t interrupted_steps = 0;  ///< left out because another loader was iterated within them (evaluation);
                                       ///< none where most steps have that: it is part of the step then
  std::vector<double> pauses_s{};  ///< of each pass that began as found: making its iterator, waiting for a first batch
  double optimizer_steps_per_batch = 0.0;  ///< 0 where no optimizer step was seen
  /// The script makes an iterator for each step: a step's wait is making it, a first batch, and sending its workers
  /// away.
  bool iterator_per_step = false;
  std::vector<OtherLoader> others{};  ///< of every step; empty where one loader serves it
  bool by_turns = false;              ///< each step takes a batch of the training loader or of one of `others`
  GivenAgain given_again{};
};

/// A stretch of time, CLOCK_MONOTONIC.
struct Stretch {
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
};

/// Finds the training loader (the one that most optimizer steps fall into, else the one that delivered most) and its
/// steady steps: of each pass the queue's start-up (the first W k batches) and the draining end (the last W k + 2)
/// are left out, as far as the pass is long enough (DESIGN.md section 6).
/// `found_again`: stretches after the first phase in which the job ran as found, with their own ends cut.
[[nodiscard]] SteadyWindow steady_window(const Consumer& consumer, const std::vector<Stretch>& found_again = {});

/// When the script asked other loaders than the training loader for batches (CLOCK_MONOTONIC, sorted): evaluation.
[[nodiscard]] std::vector<std::uint64_t> waits_beside_training(const Consumer& consumer);

}  // namespace stallcast
