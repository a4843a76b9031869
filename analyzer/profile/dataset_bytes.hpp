/// What a sample reads, from what a run has seen of its data set.
#pragma once

#include <cstdint>
#include <optional>

#include "analyzer/profile/profile.hpp"

namespace stallcast {

/// Bytes of a sample, each counted once: numpy reads the beginning of a file twice, HDF5 its labels with every sample,
/// and only the first time from storage. `dataset_samples`: of the whole data set, as the job tells. Absent where what
/// samples read was not seen.
[[nodiscard]] Measured<BytesPerSample> distinct_bytes_per_sample(const Dataset& dataset,
                                                                 const Measured<std::int64_t>& dataset_samples);

/// Bytes that storage gives for a sample that is not in memory, where cold blocks tell and that is clearly more than it
/// needs: whole pages of small samples, and what the kernel reads ahead.
[[nodiscard]] std::optional<BytesPerSample> more_than_needed(const Dataset& dataset,
                                                             const Measured<std::int64_t>& dataset_samples);

/// How many times the pages of a sample they are, where that is clearly more than once: the kernel reads ahead around
/// single reads of large files, or around page faults.
[[nodiscard]] std::optional<double> read_ahead_factor(const Dataset& dataset,
                                                      const Measured<std::int64_t>& dataset_samples);

}  // namespace stallcast
