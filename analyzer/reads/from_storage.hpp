/// What of the bytes that a job read came from storage, as /proc counts them.
#pragma once

#include <vector>

#include "analyzer/profile/profile.hpp"
#include "analyzer/steps/rank_view.hpp"

namespace stallcast::sections {

/// Share of the bytes that the making of batches read that came from storage (/proc/PID/io), at most 1.
[[nodiscard]] Measured<Fraction> storage_share(const RunData& run, const std::vector<RankView>& ranks);

/// Whether reads paid for storage that the job's own processes emulated: then the kernel's counts are not of them.
[[nodiscard]] bool storage_is_emulated(const RunData& run);

/// Bytes that the making of batches read for one sample; 0 where none was seen.
[[nodiscard]] double read_per_sample(const std::vector<RankView>& ranks);

}  // namespace stallcast::sections
