/// What this room takes for much and little: thresholds and tolerances, with what set them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stallcast {

// job.cpp

/// Ranks that a job may say it has. Chosen: more than any machine has GPUs; a larger number is damage.
inline constexpr std::int64_t k_most_ranks_of_job = 10'000'000;

// pass_steps.cpp, steady.cpp: what of a pass is a steady step.

/// Batches for each worker that are taken to be under way where the loader says fewer: the default of torch's
/// DataLoader (prefetch_factor).
inline constexpr std::int64_t k_least_prefetch_factor = 2;
/// Batches that a loader of threads is taken to have under way, as it does not say. Chosen: fewer leave the filling of
/// its queue among the steps, more take steps from short passes. Held by "both ends of a pass are left out"
/// (tests/analyzer/stalls/overlapped_test.cpp).
inline constexpr std::size_t k_prefetched_by_threads = 8;
/// Batches beyond those under way that are left out at the end of a pass, where workers begin to rest one after the
/// other. Chosen; held by "the queue's start-up and the draining end are left out"
/// (tests/analyzer/steps/steady_test.cpp).
inline constexpr std::size_t k_tail_beyond_in_flight = 2;
/// Steps that must be left of a pass between its ends; where they are not, its middle half is taken. Chosen: fewer are
/// no measurement (k_fewest_steps of analyzer/ranks is the same).
inline constexpr std::size_t k_fewest_steps_within_pass = 4;
/// Passes, from which nine of ten with a single batch tell a script that makes an iterator for each step. Chosen: below
/// it a few broken-off passes (a look at the data) would.
inline constexpr std::size_t k_fewest_single_batch_passes = 8;
/// of the steps' time, for batches of other loaders. Chosen: less would not show as a percent
inline constexpr double k_least_other_wait = 0.01;

// by_turns.cpp

/// Batches of a pass, for it to take turns with another. Chosen: as many as tell a script that makes an iterator for
/// each step; fewer are a look at the data.
inline constexpr std::size_t k_fewest_batches_by_turns = 8;
/// Of them, those of optimizer steps on none of another loader. Chosen: the first batch after an evaluation, and steps
/// that a scaler of gradients leaves out, are less than a tenth.
inline constexpr double k_trained_alone = 0.9;

// steady_turns.cpp

/// Steps, below which no warm-up is looked for: neither its quarter nor the median of a half would say much. Chosen.
inline constexpr std::size_t k_fewest_steps_for_warm_up = 16;
/// Times as many steps as workers, likewise: lengths are averaged over a turn of the workers. Chosen: four turns put
/// one into the quarter that a warm-up may take.
inline constexpr std::size_t k_fewest_turns_for_warm_up = 4;
/// Times the median of the second half, from which a step at the beginning is clearly slower. Chosen: lower, usual
/// scatter is cut off at the beginning alone, which biases the rate; higher, lazy initialisation counts as steady.
inline constexpr double k_slow_warm_up_step = 1.5;
/// Turns of the workers, from which a stretch of steps is cut to whole ones. Chosen: of fewer the cut would take a
/// third.
inline constexpr std::size_t k_fewest_turns_kept_whole = 3;

// makings.cpp: epochs whose samples took another time to make. Held by tests/analyzer/steps/makings_test.cpp.

/// Batches of an epoch, for its median to be told. Chosen: fewer are one turn of a few workers.
inline constexpr std::size_t k_fewest_made_in_epoch = 8;
/// Times, from which making took another time at first than at last. Chosen: cores that are shared and clocks that rise
/// and fall make a quarter of a difference (the same job, minutes apart), none makes half.
inline constexpr double k_other_making = 2.0;
/// Of a step, the least that the difference comes to, with all workers at it. Chosen: less is below the verdict's own
/// steps of five per cent.
inline constexpr double k_making_matters = 0.05;
/// Of the difference, within which an epoch is as at first, or as at last. Chosen: where half of what is left is kept
/// in each epoch, the fifth is settled.
inline constexpr double k_making_level = 0.1;

}  // namespace stallcast
