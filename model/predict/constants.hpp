/// What this room takes for much and little: thresholds, tolerances and standard deviations, with what set them.
#pragma once

#include <cstddef>

namespace stallcast {

// uncertainty.cpp: the measurement that is named as what an answer hangs on.
inline constexpr double k_wide_log_rate_sd = 0.01;  ///< of ln rate. Chosen: below it, nothing is worth measuring more
inline constexpr double k_least_explained_share = 0.25;  ///< of the rate's variance. Chosen: below it, none stands out

// discrepancy.cpp: a Gaussian process over what binds (Regime, each part from 0 to 1).
/// of ln of a step's time: what the model is off where nothing corrects it. Chosen; errors in tests/bench/predictions
/// are of this size: median 1.3 %, 90th percentile 4.4 % (docs/accuracy.md)
inline constexpr double k_model_sd = 0.03;
/// of the way from a resource that is idle to one that binds: how far apart two regimes share most of their
/// discrepancy. Chosen: so that it is expected again where the same things bind, and hardly where another one does
inline constexpr double k_discrepancy_reach = 0.5;

// predict.cpp
/// of the rate: from here on the difference of the two forms is worth a note. Chosen, as k_model_sd
inline constexpr double k_forms_apart = 0.03;
/// standard deviations of the rate as found. Chosen, the usual two: beyond, blocks and the window as found contradict
/// each other, and what was measured stands
inline constexpr double k_window_contradicts_sds = 2.0;

// bounds.cpp
/// of the slowest stage's time over the next, less 1. Chosen: more says nothing, and a division by next to nothing ends
inline constexpr double k_most_headroom = 1000.0;

// grid.cpp
inline constexpr std::size_t k_most_grid_threads = 8;  ///< Chosen: a report must not take a login node's cores all

// curves.cpp
inline constexpr int k_most_curve_workers = 256;  ///< workers. Chosen: as far as a curve is drawn, whatever is found
inline constexpr int k_cache_curve_steps = 10;    ///< from nothing cached to everything: points of 10 % apart

// recursion.cpp
/// batches that are played. Chosen: quantiles of a measured distribution have so many values, and an answer stays quick
inline constexpr std::size_t k_played_batches = 6000;
/// of the mean. Chosen: no batch takes less, however they vary; a spread that is scaled up must not make times negative
inline constexpr double k_least_batch_time = 0.05;
/// of what is missing to a ceiling that workers wait for; the rest is waited for by the consumer alone. Chosen: all of
/// it would overshoot where queueing adds some
inline constexpr double k_held_back_share = 0.98;
inline constexpr double k_at_ceiling = 0.005;  ///< of the ceiling's time: close enough to it. Chosen, under k_model_sd
inline constexpr double k_recursion_fits = 0.001;  ///< of a step: fitted when as near. Chosen, well under rates' noise
inline constexpr double k_starved_wait_share = 0.1;  ///< of a step. Chosen: who waits so much goes at the workers' pace
/// of a step: a ceiling as near to the step as found binds it, and is fitted itself. Chosen: no
/// probe knows one better
inline constexpr double k_near_ceiling = 0.05;
/// the same where nothing else that is known makes the step as long. Chosen: a rate as found of few batches is off by
/// as much
inline constexpr double k_near_binding_ceiling = 0.1;
/// of making as the model has it. Chosen: what a job that goes at the workers' pace may be fitted by, up or down; more
/// is a wrong model
inline constexpr double k_most_making_factor = 1.5;
/// the same where making is mostly hidden behind the step, and tells little. Chosen; and never above 1
inline constexpr double k_least_hidden_making_factor = 0.9;
/// of the step, in one turn of the fit. Chosen: in small turns it does not swing
inline constexpr double k_least_correction = 0.9;
inline constexpr double k_most_correction = 1.1;

// cluster_simulation.cpp
inline constexpr double k_most_rank_steps = 1e8;  ///< batches over all ranks. Chosen: more keeps the user waiting
inline constexpr double k_most_simulation_bytes = 2147483648.0;  ///< of memory. Chosen: 2 GiB, which a laptop has
/// samples read over all epochs. Chosen, for time and memory; beyond, an item of the caches stands for several samples
inline constexpr double k_many_simulated_reads = 4e7;
/// of the samples: shares from storage by simulation and closed form are told apart from here on. Chosen
inline constexpr double k_storage_shares_differ = 0.02;
/// of the time that ranks wait for the slowest. Chosen: worth a note
inline constexpr double k_straggling_matters = 0.05;
inline constexpr double k_lone_rank_fits = 0.001;  ///< of a step: fitted when as near. Chosen, as k_recursion_fits

// calibrate.cpp
/// truths that are drawn, as a Latin hypercube. Chosen: enough for the ends of a 90 % interval, each draw is an answer
inline constexpr int k_draws = 48;
/// of the draws in which a faster accelerator speeds up the step's CPU time where the model thinks it does not, or the
/// other way round. Chosen: the rule is right more often than not, and no profile says when
inline constexpr double k_other_step_share = 0.2;
/// Expected of Parameters::beside (relative time of preparing that others at work add) before any block is looked at:
/// caches are shared, and a processor's clock rate is lower with all cores busy than with one. Without it, a job
/// without workers was predicted 5 to 9 % too slow.
inline constexpr double k_beside_expected = 0.05;
/// Its standard deviation. Chosen as large as itself: by how much differs from machine to machine.
inline constexpr double k_beside_sd = 0.05;
/// of ln rate: the model's error before any block is predicted from the others. Chosen; errors in
/// tests/bench/predictions are of this size
inline constexpr double k_expected_backtest_sd = 0.025;
/// blocks that this expectation counts as. Chosen: one or two blocks say little of the model's error, and no longer
/// decide it alone
inline constexpr double k_expected_backtest_counts = 2.0;
/// Priors of the fit, standard deviations of a logarithm. Where stalls were attributed, the run as found told each part
/// by itself, and the fit only reconciles them. Chosen
inline constexpr double k_attributed_step_sd = 0.005;  ///< beside what the step's own interval says
inline constexpr double k_attributed_prep_sd = 0.05;
inline constexpr double k_attributed_storage_sd = 0.08;
/// The same where rates of blocks were measured: these shall decide, so the priors are wide. Chosen
inline constexpr double k_prior_step_sd = 0.02;            ///< beside what the step's own interval says
inline constexpr double k_prior_prep_of_cached_sd = 0.10;  ///< CPU time is that of cached blocks, without the storage's
inline constexpr double k_prior_prep_sd = 0.30;
inline constexpr double k_prior_storage_sd = 0.50;
/// units of Parameters::bandwidth, of a guessed share: a standard normal's. Chosen wide: nearly any share stays
/// possible
inline constexpr double k_prior_guessed_ceiling_units = 1.4;
/// of Parameters::beside where no block has fewer workers. Chosen: as good as fixed, as nothing tells it
inline constexpr double k_untold_beside_sd = 1e-4;
/// of a prior's standard deviation, for slopes. Chosen: above their noise
inline constexpr double k_slope_step = 0.05;
inline constexpr double k_settled_gain = 1e-4;  ///< of the sum of squares: less ends the fit. Chosen, far below one
/// of the model's own errors, by backtests. Chosen: a few lucky blocks narrow them by no more, and unlucky ones widen
/// by no more
inline constexpr double k_least_error_scale = 0.7;
inline constexpr double k_most_error_scale = 4.0;

}  // namespace stallcast
