/// Loaders that fetch and prepare side by side in threads (tf.data, DALI): rate = min(1/F, 1/P, G).
///
/// Worked example. A job takes 640 samples/s in batches of 32 and waits 30 of each 50 ms. Its loader gives one batch in
/// 50 ms, its step takes 20 ms. With a GPU of half the speed the step takes 40 ms, which the loader still hides: 640.
/// At a quarter it takes 80 ms: 400. A faster one gains nothing. Whether a cache or more cores would shorten the 50 ms
/// cannot be told: max(F, P) is known, and not which of the two it is.
#pragma once

#include "core/result.hpp"
#include "model/job/job_model.hpp"
#include "model/scenario/scenario.hpp"

namespace stallcast {

/// Puts the loader of an overlapped job into `job`, whose rate, batch and step are known.
void read_overlapped(const Profile& profile, JobModel& job);

/// Whether `scenario` can be answered for an overlapped job. Errors: usage for settings that only a loader with worker
/// processes has; not_enough_data for what needs F and P, or a loader's rate that the step hides.
[[nodiscard]] Status check_overlapped(const JobModel& job, const Scenario& scenario);

}  // namespace stallcast
