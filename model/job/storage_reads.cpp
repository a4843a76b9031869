/// What a read from storage costs: by the job's own reads, and by a probe.
#include <algorithm>
#include <optional>

#include "analyzer/profile/dataset_bytes.hpp"
#include "model/job/constants.hpp"
#include "model/job/inputs.hpp"

namespace stallcast::inputs {
namespace {

/// Seconds of a sample's reads, of which `share` of those that missed the cache took longer; none where few were seen.
std::optional<double> fast_read(const Profile& profile, const JobModel& job, double share) {
  const auto reads = profile.resources.distributions.find("sample_read_s");
  if (reads == profile.resources.distributions.end() || reads->second.n < k_fewest_reads || !(reads->second.mean > 0.0))
    return std::nullopt;
  return reads->second.quantile(1.0 - share * std::max(job.miss, k_least_miss));
}

}  // namespace

void guess_bandwidth_share(const Profile& profile, JobModel& job) {
  const auto fast_s = fast_read(profile, job, k_surely_missed);
  if (!fast_s) return;
  const double mean_s = profile.resources.distributions.find("sample_read_s")->second.mean;
  job.bandwidth_share = std::clamp(1.0 - *fast_s / mean_s, k_least_shared_waiting, k_most_shared_waiting);
}

void read_storage(const Profile& profile, JobModel& job) {
  const Storage& storage = profile.storage;
  const auto bytes = distinct_bytes(profile);
  const auto stored = more_than_needed(profile.dataset, profile.job.dataset_samples)
                          ? value_of(profile.dataset.stored_bytes_per_sample)
                          : bytes;
  if (!known(storage.ceiling_bandwidth) || !(storage.ceiling_bandwidth->mean.value() > 0.0)) return;
  if (!bytes || !plausible_bytes(*bytes) || !stored || !plausible_bytes(*stored)) return;
  const Estimate<BytesPerSecond>& ceiling = *storage.ceiling_bandwidth;
  job.storage_demand_s = job.ranks_per_host * *stored / ceiling.mean.value();
  job.storage_demand_sd = relative_sd(ceiling);
  job.storage_saved = storage.saved ? std::clamp(*storage.saved, 0.0, 1.0) : 0.0;
  if (storage.idle_read && storage.read_size && plausible(storage.idle_read->value()) &&
      storage.read_size->value() > 0.0) {
    job.idle_read_s = storage.idle_read->value() * *bytes / storage.read_size->value();
    const bool all_missed = profile.resources.bytes_from_storage.has_value() && job.miss >= k_nearly_all_missed;
    const auto free_s = all_missed ? fast_read(profile, job, k_found_free) : std::nullopt;
    if (free_s) job.idle_read_s = std::min(*job.idle_read_s, *free_s);
  }
}

}  // namespace stallcast::inputs
