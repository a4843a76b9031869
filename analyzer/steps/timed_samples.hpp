/// The capture library leaves short samples untimed and without a record, more of them the shorter they are
/// (probes/capture/sampled_timing.hpp). What is said of samples is said of those that would have been timed at any
/// moment.
#pragma once

#include <cstdint>
#include <vector>

#include "probes/record/layout.hpp"

namespace stallcast {

struct TimedSamples {
  std::vector<const record::SampleRecord*> samples{};  ///< in the order given
  std::int64_t period = 1;                             ///< each stands for so many samples that were made
};

/// Those of `samples` that the longest period among them chose.
///
/// Worked example. The first 128 samples were all timed (period 1), then one in 8, those whose hash is a multiple of 8:
/// of the first 128 those 16 are kept whose hash is one, too. So the beginning weighs no more than the rest.
[[nodiscard]] TimedSamples evenly_timed(const std::vector<const record::SampleRecord*>& samples);

}  // namespace stallcast
