/// What this room takes for much and little: thresholds and tolerances, with what set them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stallcast {

// resources.cpp

/// Batches, or stretches between ticks, from which a sample's demand has an interval. Chosen: of three, one decides.
inline constexpr std::size_t k_fewest_demands = 4;

// operators.cpp

/// Samples, or collates, that were timed by operator. Chosen: one batch of usual size; of fewer, an operator that is
/// rare (an augmentation by chance) is missed.
inline constexpr std::size_t k_fewest_timed_samples = 32;
/// Of the busy time, neither in samples and collates nor waiting for a core, beyond its interval, from which the rows
/// do not add up. Held by "parts that miss more than 3 % of the busy time are said to"
/// (tests/analyzer/resources/operators_test.cpp).
inline constexpr double k_operators_disagree = 0.03;
/// Of the busy time, that workers waited for a core between samples, from which that is a row. Chosen: as little as a
/// report has a line for. Held by "waiting for a core is no operator's" (there).
inline constexpr double k_core_wait_worth_a_row = 0.01;

// gpu.cpp

/// Of the probe's records, that were dropped, from which the rest is no measure any more. Chosen: a step's busy time is
/// off by about as much. Held by "what cannot be trusted is absent" (tests/analyzer/resources/gpu_test.cpp).
inline constexpr double k_most_dropped_gpu_records = 0.01;
/// Steady steps within what the probe saw. Chosen: as few as a series that has an interval (k_fewest_values_for_blocks
/// of analyzer/statistics).
inline constexpr std::size_t k_fewest_traced_steps = 8;

// cpu.cpp, cpu_shares.cpp: sampled CPU time.

/// Samples, from which shares are told. Chosen: of 30, a share of a half has an interval of 18 points to both sides.
inline constexpr std::int64_t k_fewest_cpu_samples = 30;
/// Processes that are listed, those with most samples. Chosen: a table to read; the others are in the sums.
inline constexpr std::size_t k_most_cpu_processes = 16;
/// Nanoseconds of the training thread that are one cluster of samples, as a batch is for its maker. Chosen: some steps,
/// so that neighbouring clusters do not hold parts of one.
inline constexpr std::uint64_t k_main_cluster_ns = 1'000'000'000ULL;
/// Clusters, below which the spread between them says nothing and samples count as independent. "the interval holds the
/// truth as often as it says, in clusters or not" (tests/analyzer/resources/cpu_test.cpp).
inline constexpr std::size_t k_fewest_cpu_clusters = 8;
/// Rows of a table of functions, and the least share of a row of its own; the rest is one row. Chosen: a table to read.
inline constexpr std::size_t k_most_cpu_rows = 12;
/// Of all samples, likewise.
inline constexpr double k_least_cpu_row = 0.005;

// other_load.cpp

/// Seconds over which the job's and other processes' use of the cores is told: the kernel counts in clock ticks of 10
/// ms, on each CPU, and of 2 s that is half a percent.
inline constexpr double k_least_s_for_others = 2.0;

// overhead.cpp

/// Pairs of stretches with and without recording. Chosen: Student's t over two values is of no use (12.7 standard
/// errors).
inline constexpr std::size_t k_fewest_overhead_pairs = 3;

}  // namespace stallcast
