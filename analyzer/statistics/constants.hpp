/// What this room takes for much and little: thresholds and tolerances, with what set them.
#pragma once

#include <cstddef>

namespace stallcast {

// statistics.cpp: batch means of a series whose values depend on their neighbours. "intervals of autocorrelated series
// cover what they claim" in tests/analyzer/statistics holds these four together: 1000 series each of lag-one
// correlation up to 0.9.

/// Blocks that a series is cut into. More, and neighbouring blocks share what their values share.
inline constexpr std::size_t k_most_mean_blocks = 20;
/// Blocks, below which merging stops: with four degrees of freedom Student's t is 2.8 already, with one it is 12.7.
inline constexpr std::size_t k_fewest_mean_blocks = 5;
/// Values, below which each is a block of its own: two blocks of so few can agree by chance, and the interval is then
/// far too narrow.
inline constexpr std::size_t k_fewest_values_for_blocks = 8;
/// Lag-one correlation of blocks beyond which they are merged in pairs. Chosen: 20 independent blocks show 1 / sqrt(20)
/// = 0.22 by chance; much below it series without memory would be merged, too.
inline constexpr double k_correlated_blocks = 0.3;
/// Lag-one correlation that the blocks which are left are widened for, at most. Chosen: a dozen blocks or fewer tell it
/// badly, and towards 1 the widening has no bound.
inline constexpr double k_most_shared_by_blocks = 0.5;

}  // namespace stallcast
