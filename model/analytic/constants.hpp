/// What this room takes for much and little: tolerances and sizes of approximations, with what set them.
#pragma once

#include <cstddef>

namespace stallcast {

// cluster.cpp
/// buckets of one exchange. Chosen: gradients of any size stay quick; beyond 25 GB buckets grow instead
inline constexpr double k_most_gradient_buckets = 1000.0;
/// standard deviations to which the mean of the largest of n is integrated. Chosen: of a normal, 1e-17 lies beyond
inline constexpr double k_integrated_sds = 8.5;
inline constexpr int k_integration_steps = 1700;  ///< of that way: 0.005 standard deviations each. Chosen

// read_ahead.cpp
/// that a reader of a shard asks for first. Chosen: tarfile asks for 4 KiB, its stream mode for 10; a larger first read
/// leaves out a small window or two
inline constexpr unsigned k_first_read_bytes = 16384;
/// of a shard: samples are taken together beyond. Chosen: far more than windows
inline constexpr double k_most_pieces_of_shard = 512.0;
inline constexpr int k_shards_before = 2;  ///< before the steady state. Chosen: one leaves nothing to the next but one
inline constexpr int k_shards_walked = 4;  ///< Chosen: pauses fall on other places of each
inline constexpr int k_halvings = 30;      ///< of what storage may take. Chosen: to a billionth

// stall_curve.cpp
/// of the mean: between curves of making this far apart is interpolated
inline constexpr double k_making_cv_bucket = 0.05;
/// of the mean: the nearest curve counts, as steps vary little. Chosen
inline constexpr double k_step_cv_bucket = 0.02;
inline constexpr int k_most_cv_buckets = 40;      ///< Chosen: a coefficient of variation of 2 in making, 0.8 in steps
inline constexpr int k_most_drawn_workers = 128;  ///< workers. Chosen: beyond these the curve hardly moves any more
inline constexpr int k_most_drawn_prefetch = 32;  ///< batches a worker. Chosen, as for workers
/// batches a curve is drawn from. Chosen: its noise is small, and a curve stays quick
inline constexpr std::size_t k_drawn_batches = 8192;

// closed_form.cpp: Anderson mixing of depth 1 of who meets whom at cores and storage.
inline constexpr int k_most_iterations = 60;  ///< Chosen: where it has not settled by then, it stays as near as it is
inline constexpr double k_presence_tolerance = 1e-6;  ///< of time. Chosen: the fit takes differences of rates
/// of the residual that a step takes. Chosen: plain iteration swings to and fro; set anew (0.6 before) when mixing made
/// the form three times as fast (tests/bench/model)
inline constexpr double k_damping = 0.7;
/// of the last two states. Chosen: more leaps out of the region where it fits
inline constexpr double k_most_mixing = 3.0;
inline constexpr double k_surely_present = 0.9999;  ///< of time. Chosen: the odds of a chance of 1 are infinite
/// times that making outlasts a step of no time at all. Chosen: far beyond the loads that curves are drawn for (8)
inline constexpr double k_far_from_binding = 64.0;

}  // namespace stallcast
