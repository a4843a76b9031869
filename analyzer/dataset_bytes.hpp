/// What a sample reads, from what a run has seen of its data set.
#pragma once

#include "analyzer/profile.hpp"

namespace stallcast {

/// Bytes of a sample, each counted once: numpy reads the beginning of a file twice, and only the first time from
/// storage. Absent where what samples read was not seen.
[[nodiscard]] Measured<BytesPerSample> distinct_bytes_per_sample(const Dataset& dataset);

}  // namespace stallcast
