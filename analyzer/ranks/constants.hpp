/// What this room takes for much and little: thresholds and tolerances, with what set them.
#pragma once

#include <cstddef>

namespace stallcast {

// ranks_seen.cpp. The steps from which a rank has a rate (k_fewest_steps) are in its header, as analyze.cpp asks for as
// many.

// clocks.cpp. tests/analyzer/ranks/clocks_test.cpp has ranks that end their steps together, and such that do not.

/// Steps under the same number, from which clocks are compared. Chosen: quartiles of fewer are single steps.
inline constexpr std::size_t k_fewest_steps_together = 20;
/// Of a step, that what one rank is ahead by may move over the run, or spread between its quartiles, for the ranks to
/// end their steps together. Chosen: ranks that do not wait for each other drift by whole steps.
inline constexpr double k_together_within_step = 0.25;

// exchange.cpp

/// Iterations that PyTorch's own timers saw on all ranks. Chosen: it times one in ten on CPUs, in a hundred on GPUs, so
/// more would need long runs; two have no interval of use.
inline constexpr std::size_t k_fewest_exchange_iterations = 3;
/// Of a mark's number (nanoseconds or bytes): eleven days, a petabyte. Chosen: more is damage.
inline constexpr double k_most_of_exchange_mark = 1e15;

}  // namespace stallcast
