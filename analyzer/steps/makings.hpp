/// How long samples took to make, epoch by epoch: a data set that keeps what it made, or an augmentation that is
/// switched on later, makes one job of two.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/steps/rank_view.hpp"

namespace stallcast::sections {

/// An epoch of all ranks, on the clock of their node.
struct EpochMaking {
  std::int64_t epoch = 1;  ///< 1 is the first
  std::uint64_t begin_ns = UINT64_MAX;
  std::uint64_t end_ns = 0;
  /// Median over its batches, of their makers' time: without reads, and without waiting for a core.
  double seconds_per_sample = 0.0;
};

/// Consecutive epochs in which making takes as long: [first, last] of those given.
struct MakingLevel {
  std::size_t first = 0;
  std::size_t last = 0;
};

/// In order. Epochs of which too few batches are known, or nothing (loaders of threads, data that are mapped and come
/// from storage), are left out.
[[nodiscard]] std::vector<EpochMaking> makings_by_epoch(const std::vector<RankView>& ranks);

/// At most three: as at first, on the way, as at last. Empty where making takes as long all along, or where the
/// difference is nothing to a step of `step_s`, given `batch` samples that `makers` make side by side.
///
/// Worked example. 10, 5.1, 2.4, 0.5, 0.4 and 0.4 ms: the first epoch, epochs 2 and 3, epochs 4 to 6.
[[nodiscard]] std::vector<MakingLevel> levels_of(const std::vector<EpochMaking>& epochs, double step_s, double batch,
                                                 double makers);

}  // namespace stallcast::sections
