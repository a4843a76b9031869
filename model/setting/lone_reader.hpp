/// A stream that one reader alone takes from storage: the training process, the only worker, or the one of several
/// whose shard no cache holds. The others cannot use storage while it computes, and how far its reading overlaps with
/// that depends on how its shards lie to the device's read-ahead (analytic/read_ahead.hpp).
#pragma once

#include "model/setting/setting.hpp"

namespace stallcast {

/// What it waits for, and holds the others up by, in `in`, which has all else; `demand_s`: of a sample at the storage.
/// Nothing where `setting` has no such reader all the time, or its shards are not known.
///
/// Worked example. Of two workers, which take turns, one reads from storage: 6 ms a sample, batches of 8. Every second
/// batch takes 48 ms, so that no batch takes less than 24 in the mean.
void add_lone_reader(const JobModel& job, const Setting& setting, double demand_s, ServiceDemands& in);

}  // namespace stallcast
