/// What this room takes for much and little: thresholds and tolerances, with what set them.
#pragma once

namespace stallcast {

// compare.cpp. The chance that a difference is none (k_significance) is part of what compare.hpp promises.

/// Degrees of freedom of a change's interval: two series of five blocks each, the fewest that an interval rests on
/// (k_fewest_mean_blocks). tests/analyzer/compare holds the rate of false alarms: none in 200 pairs of simulated runs.
inline constexpr double k_most_degrees_of_change = 8.0;
/// Of a change (of a share, or logarithm of a ratio), below which it is none. Chosen: rounding of doubles in JSON is
/// some 1e-16, and no change that anybody acts on is below 1e-6.
inline constexpr double k_rounding_of_change = 1e-9;
/// Of the samples of a step, by which two profiles may differ and have the same batch size. Chosen: both are means of
/// the same steps, and batches of fewer than 50 samples differ by more as soon as they differ by one.
inline constexpr double k_same_samples_per_step = 0.02;

// fail_condition.cpp

/// Percent that a condition may ask for. Chosen: ten thousand times as much is a slip of the keyboard.
inline constexpr double k_largest_percent = 1e6;

}  // namespace stallcast
