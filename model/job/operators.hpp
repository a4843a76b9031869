/// What the operators of the workers (transforms, decoding, collating) cost a sample of the job.
#pragma once

#include "analyzer/profile/profile.hpp"
#include "model/job/job_model.hpp"

namespace stallcast {

/// Reads the operators' costs off `profile`. Needs the costs of a sample in `job`.
void read_operators(const Profile& profile, JobModel& job);

}  // namespace stallcast
