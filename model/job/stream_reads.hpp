/// A stream as its storage sees it: shards that are read in order, ahead of the reader.
#pragma once

#include <optional>

#include "analyzer/profile/profile.hpp"
#include "model/analytic/read_ahead.hpp"
#include "model/job/job_model.hpp"

namespace stallcast {

/// Whether the kernel reads ahead of the job: of shards that are read in order by read(), over no network. Of a stream
/// of small files it does not know which comes next. Takes over how its shards lie to that.
void read_order(const Profile& profile, JobModel& job);

/// One reader of the job's shards, its own times and those of storage still to be set. Absent where it is not known how
/// its shards lie to the device's read-ahead.
[[nodiscard]] std::optional<read_ahead::Reader> shard_reader(const JobModel& job);

/// Sets `stream_demand_s` of a job that one reader made slow: its rate is that of storage and of what the read-ahead
/// did not hide. Called last.
void take_out_lone_reader(JobModel& job);

}  // namespace stallcast
