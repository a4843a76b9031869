/// What a sample costs that comes from storage.
#pragma once

#include "model/setting.hpp"

namespace stallcast {

/// Storage per missed sample: demand at what the workers share, and latency that nobody shares.
struct StorageCost {
  double demand_s = 0.0;
  double latency_s = 0.0;
};

/// For `setting`, by what was measured of the job and, where it was probed, of the storage; zero where neither was.
[[nodiscard]] StorageCost storage_cost(const JobModel& job, const Setting& setting, const Parameters& parameters);

/// What storage saves up while nobody reads. Without workers nobody does for a whole step, which is about as long as
/// the pauses that were measured. Workers pause for a fraction of that: what saves up anything over the longer ones,
/// beyond what may be noise of a disk, saves up all of that.
[[nodiscard]] double saved_between_reads(const JobModel& job, const Setting& setting);

}  // namespace stallcast
