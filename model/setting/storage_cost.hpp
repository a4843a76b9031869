/// What a sample costs that comes from storage.
#pragma once

#include "model/setting/setting.hpp"

namespace stallcast {

/// Storage per missed sample: demand at what the workers share, and latency that nobody shares.
struct StorageCost {
  double demand_s = 0.0;
  double latency_s = 0.0;
};

/// For `setting`, by what was measured of the job and, where it was probed, of the storage; zero where neither was.
[[nodiscard]] StorageCost storage_cost(const JobModel& job, const Setting& setting, const Parameters& parameters);

/// Standard deviation of Parameters::bandwidth where a probe has shown the storage's ceiling: what its own interval
/// says, and no less than one step of k_demand_step. Of a stream whose own rate tells what storage gives, one step.
[[nodiscard]] double probed_ceiling_units(const JobModel& job);

/// Share of what storage could deliver while nobody reads that it has ready afterwards. The pauses that were measured
/// are longer than those between the reads of a job, and all that can be read was read after them: what saves up
/// anything over such, beyond what may be noise of a disk, saves up all of a short one. Of a stream all of it is: the
/// kernel reads on meanwhile.
[[nodiscard]] double saved_between_reads(const JobModel& job);

}  // namespace stallcast
