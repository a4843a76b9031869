/// From where on this room says something: thresholds of findings and advice, with what set them. From where waiting is
/// moderate and high is in findings.hpp: other rooms paint by it.
#pragma once

#include <cstddef>

namespace stallcast::reports {

// findings.cpp
/// of the waiting. Chosen: from here on one part of it may stand for the whole in a sentence
inline constexpr double k_nearly_all_of_wait = 0.85;
/// of the step, waiting of which nobody asks how it divides. Chosen: a fifth of what counts as "fine"
inline constexpr double k_worth_dividing = 0.01;

// price.cpp
inline constexpr std::size_t k_longest_currency = 8;  ///< letters. Chosen: "credits" and all three-letter codes
/// an hour of a machine, in any currency. Chosen: keeps times and sums far from the ends of double
inline constexpr double k_most_price = 1e9;

// breakdown.cpp
/// of a step, waiting that is neither reading nor preparing. Less would not show as a percent
inline constexpr double k_other_from = 0.005;
/// of the bytes, from storage. What the premise of a cold block asks (analyzer/blocks): the run as found counts as cold
inline constexpr double k_found_cold = 0.90;

// epoch.cpp
inline constexpr double k_least_pause = 0.01;  ///< of an epoch, between two. Chosen: a shorter one is not worth a word

// confidence.cpp
inline constexpr double k_wide_half = 0.05;  ///< half an interval, of the step. Chosen: as wide as all that is moderate
inline constexpr double k_loose_half = 0.10;   ///< the same. Chosen: from here on it says little (breakdown.cpp too)
inline constexpr double k_short_run_s = 20.0;  ///< Chosen: a window shorter than this may not be typical of the job
/// of the rate, lower end of what recording took. Chosen: four times of what tests/bench/overhead finds
/// (docs/accuracy.md)
inline constexpr double k_overhead_doubt = 0.02;

// why.cpp
inline constexpr double k_run_delay_from = 0.05;  ///< of the workers' time, waiting for a core. Chosen: worth a clause
/// of the bytes, from storage. Less would not show as a percent, and is said to be from memory
inline constexpr double k_from_memory_below = 0.005;
/// of a step, by the loader's own workers. Chosen: worth a sentence
inline constexpr double k_interference_from = 0.01;

// next_steps.cpp
/// of their time. Chosen: busier ones cannot make up for a slow batch
inline constexpr double k_busy_workers_from = 0.80;
inline constexpr double k_free_core = 0.5;  ///< cores idle on average. Chosen: another worker then finds one
/// read for a sample. Chosen: less pays mostly latency on most storage
inline constexpr double k_small_sample_bytes = 256e3;
/// of the bytes, from storage. Chosen: below it, storage is not what reads wait for
inline constexpr double k_from_storage_from = 0.05;
/// of the memory that is left. Chosen: a data set may take so much and still stay resident
inline constexpr double k_fits_memory_share = 0.9;
inline constexpr double k_rank_spread = 0.05;  ///< of a step, one rank's waiting over the median. Chosen: worth a look
/// of a worker's time spent ready to run. Chosen: from here on cores are short
inline constexpr double k_queueing_from = 0.20;
inline constexpr std::size_t k_most_next_steps = 5;  ///< Chosen: the weightiest; nobody follows a longer list

}  // namespace stallcast::reports
