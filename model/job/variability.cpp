/// How much the making of batches varies, and the steps.
#include <algorithm>

#include "model/job/constants.hpp"
#include "model/job/inputs.hpp"

namespace stallcast::inputs {

void read_variability(const Profile& profile, JobModel& job) {
  const auto take = [&](const char* name, Input input, double& cv, Distribution& kept) {
    const auto found = profile.resources.distributions.find(name);
    if (found == profile.resources.distributions.end() || found->second.n < k_fewest_of_spread ||
        !(found->second.mean > 0.0)) {
      job.missing.push_back({input, "too few values", k_profile_more});
      return;
    }
    kept = found->second;
    cv = std::clamp(kept.cv(), 0.0, k_most_cv);
  };
  // Of a stream storage is a ceiling and no part of a worker's time: how long its reads waited says nothing of that.
  const bool apart = job.reads_ahead && profile.resources.distributions.contains("batch_prep_s");
  take(apart ? "batch_prep_s" : "batch_make_s", Input::making_times, job.cv_make, job.making);
  take("compute_s", Input::step_times, job.cv_step, job.step);
  // Of several batches a step, the last may have all of it: what single ones take then says nothing of how steps vary.
  if (profile.job.batches_per_step.value_or(1) > 1 && job.cv_step > k_unlike_batches_cv) {
    job.batches_at_once = static_cast<double>(*profile.job.batches_per_step);
    job.cv_step = JobModel{}.cv_step;
    job.step = {};
    job.missing.push_back({Input::step_times, "the batches of a step differ", k_profile_more});
  }
}

}  // namespace stallcast::inputs
