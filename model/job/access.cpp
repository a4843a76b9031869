/// What remedies of the data's layout need to know of how the job reads it, and what ranks exchange.
#include <algorithm>
#include <cmath>

#include "model/job/constants.hpp"
#include "model/job/inputs.hpp"
#include "model/job/read_requests.hpp"

namespace stallcast::inputs {
namespace {

const Distribution* distribution(const Profile& profile, const char* name) {
  const auto found = profile.resources.distributions.find(name);
  const bool usable = found != profile.resources.distributions.end() && found->second.n >= 8;
  return usable && plausible(found->second.mean) ? &found->second : nullptr;
}

/// As an emulation or the kernel counted them in this very run.
std::optional<double> counted_requests(const Profile& profile, double sample_bytes) {
  const Emulation& seen = profile.emulation;
  if (!seen.requests || !seen.request_bytes || *seen.requests <= 0) return std::nullopt;
  const double bytes = seen.request_bytes->value();
  if (!plausible_bytes(bytes) || !(bytes > 0.0)) return std::nullopt;
  return static_cast<double>(*seen.requests) * sample_bytes / bytes;
}

/// As Linux makes them of whole files, averaged over the sizes seen, read in calls of the mean size seen.
std::optional<double> requests_of_files(const Profile& profile) {
  const Distribution* reads = distribution(profile, "sample_reads");
  const Distribution* bytes = distribution(profile, "sample_bytes");
  if (profile.dataset.layout != "files" || !profile.dataset.file_size_bytes) return std::nullopt;
  const Distribution& sizes = *profile.dataset.file_size_bytes;
  if (reads == nullptr || bytes == nullptr || !(reads->mean > 0.0) || !(bytes->mean > 0.0)) return std::nullopt;
  if (sizes.n < 1 || !(sizes.mean > 0.0)) return std::nullopt;
  double sum = 0.0;
  for (int i = 0; i < k_quantiles_of_file_sizes; ++i) {
    sum += read_requests(sizes.quantile((i + 0.5) / k_quantiles_of_file_sizes), bytes->mean / reads->mean);
  }
  return sum / k_quantiles_of_file_sizes;
}

void read_requests_made(const Profile& profile, JobModel& job) {
  if (job.sample_bytes) job.requests_per_sample = counted_requests(profile, *job.sample_bytes);
  if (!job.requests_per_sample && job.sample_bytes) job.requests_per_sample = requests_of_files(profile);
  if (job.requests_per_sample) return;
  job.missing.push_back(
      {Input::requests_per_sample,
       job.files_per_sample ? "the sizes of its reads were not recorded" : "samples do not lie in files of their own",
       "a run that counts them: stallcast profile --emulate storage_iops=100k/s -- COMMAND"});
}

void read_opens(const Profile& profile, JobModel& job) {
  if (const Distribution* opens = distribution(profile, "sample_opens")) {
    job.opens_per_sample = opens->mean;
    return;
  }
  job.missing.push_back({Input::opens_per_sample, "its opens were not recorded", "a profile by this version"});
}

void read_metadata(const Profile& profile, JobModel& job) {
  const Distribution* metadata = distribution(profile, "sample_metadata_s");
  const Distribution* all = distribution(profile, "sample_read_s");
  const bool timed = metadata != nullptr && all != nullptr && all->mean > 0.0;
  // Samples are timed as found: where those came from memory, their opens say nothing of storage.
  if (timed && job.storage_s) {
    job.metadata_share = std::clamp(metadata->mean / all->mean, 0.0, 1.0);
    job.metadata_s = *job.metadata_share * *job.storage_s;
    return;
  }
  job.missing.push_back({Input::metadata_time,
                         timed ? "as found, hardly anything came from storage" : "too few samples were timed as found",
                         "a passive profile while the data are not in memory: stallcast profile --phases as_is -- "
                         "COMMAND"});
}

void read_stream(const Profile& profile, JobModel& job) {
  const Storage& storage = profile.storage;
  if (known(storage.first_byte) && storage.stream_bandwidth) {
    const double bandwidth = storage.stream_bandwidth->mean.value();
    if (std::isfinite(bandwidth) && bandwidth > 1.0) {
      job.first_byte_s = storage.first_byte->mean.value();
      job.stream_bandwidth = bandwidth;
      return;
    }
  }
  const auto& reason = !storage.first_byte ? storage.first_byte.reason() : storage.stream_bandwidth.reason();
  const std::string given = "storage_latency=..., as 'stallcast storage' measures it on the data set's folder";
  if (storage.path.empty()) {
    job.missing.push_back({Input::stream, "its storage was not measured",
                           "a profile without --phases as_is, which also measures the storage; or " + given});
  } else {
    job.missing.push_back({Input::stream, reason, given});
  }
}

void read_one_node(const Profile& profile, JobModel& job) {
  if (job.storage_demand_s) return;
  job.missing.push_back({Input::one_node, profile.storage.ceiling_bandwidth.reason(),
                         "a profile without --phases as_is, which also measures the storage; or add "
                         "storage_bandwidth=1GB/s"});
}

}  // namespace

void read_exchange(const Profile& profile, JobModel& job) {
  const Exchange& seen = profile.exchange;
  if (known(seen.backward) && job.compute_s > 0.0) {
    job.backward_share = std::clamp(seen.backward->mean.value() / job.compute_s, 0.0, 1.0);
  }
  // A hook may exchange less than the gradients: what it takes says nothing of the network.
  if (known(seen.exposed) && seen.hook.empty()) job.exposed_s = seen.exposed->mean.value();
}

void read_access(const Profile& profile, JobModel& job) {
  read_requests_made(profile, job);
  read_opens(profile, job);
  read_metadata(profile, job);
  read_stream(profile, job);
  read_one_node(profile, job);
}

}  // namespace stallcast::inputs
