/// What it takes the consumer to take over a batch that is made.
#include <algorithm>
#include <optional>

#include "model/job/constants.hpp"
#include "model/job/inputs.hpp"

namespace stallcast::inputs {

std::optional<double> receiving_as_found(const Profile& profile, const JobModel& job) {
  const auto& receive = profile.stalls.as_is_receive;
  if (job.workers == 0 || !receive || !(receive->mean >= 0.0) || !(receive->mean < 1.0)) return std::nullopt;
  return receive->mean * job.batch / job.rate;
}

/// Cached blocks against synthetic ones, where those tell; else the run as found, where it was divided. Else, steps
/// whose batch was ready wait for its handing over alone: the shortest waits, where they are short.
void read_receiving(const Profile& profile, JobModel& job) {
  const Stalls& stalls = profile.stalls;
  if (job.workers > 0 && stalls.method == "differential" && stalls.receive && stalls.receive->ci95_low > 0.0 &&
      stalls.receive->mean < 1.0 && known_rate(profile.rates.cold)) {
    job.receive_s = stalls.receive->mean * job.batch * job.ranks / profile.rates.cold->mean.value();
    return;
  }
  if (const auto as_found = receiving_as_found(profile, job)) {
    job.receive_s = *as_found;
    // Blocks that found next to none of it bound it: a starved run's waits hold more than receiving.
    if (stalls.method == "differential" && stalls.receive && known_rate(profile.rates.cold)) {
      const double most = std::max(0.0, stalls.receive->ci95_high) * job.batch * job.ranks;
      job.receive_s = std::min(job.receive_s, most / profile.rates.cold->mean.value());
    }
    return;
  }
  const auto waits = profile.resources.distributions.find("wait_s");
  if (job.workers == 0 || waits == profile.resources.distributions.end() || waits->second.n < k_fewest_waits) return;
  const double shortest = std::max(0.0, waits->second.quantile(k_shortest_waits));
  const double wait = std::max(0.0, job.batch / job.rate - job.compute_s);
  if (shortest <= k_short_wait * job.batch / job.rate) job.receive_s = std::min(shortest, wait);
}

}  // namespace stallcast::inputs
