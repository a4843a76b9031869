/// Data that are read through maps of their files (mmap: memory-mapped arrays, Arrow tables, LMDB), which no probe
/// sees.
///
/// Worked example. Making a sample takes a worker 2.3 ms, 0.6 ms of it computing. The page faults that wait for storage
/// are within the other 1.7 ms, and so may be anything else that sleeps. The job waits for its loader: whether a cache
/// or a faster disk would shorten that cannot be told, and twice the workers give between nothing and twice the
/// samples.
#pragma once

#include "analyzer/profile/profile.hpp"
#include "core/result.hpp"
#include "model/job/job_model.hpp"
#include "model/scenario/scenario.hpp"

namespace stallcast {

/// What would make such data measurable.
inline constexpr const char* k_read_calls = "a data set that the loader's own processes read with read()";

/// Marks `job` where `profile` says that its reads were not seen.
void read_unseen_reads(const Profile& profile, JobModel& job);

/// Whether `scenario` can be answered for such a job. Error: not_enough_data for keys that change where bytes come
/// from.
[[nodiscard]] Status check_unseen_reads(const JobModel& job, const Scenario& scenario);

}  // namespace stallcast
