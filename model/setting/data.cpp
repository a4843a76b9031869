/// A scenario's way of keeping the data: in shards, behind a snapshot of its metadata, on storage of so many requests a
/// second, on the nodes' own disks. Each answer carries the condition under which it holds as a note.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "model/analytic/shards.hpp"
#include "model/analytic/staging.hpp"
#include "model/job/read_requests.hpp"
#include "model/setting/constants.hpp"
#include "model/setting/parts.hpp"
#include "model/setting/storage_cost.hpp"

namespace stallcast::setting_parts {
namespace {

std::string megabytes(double bytes) {
  char text[48];
  const bool large = bytes >= 1e9;
  std::snprintf(text, sizeof text, "%.3g %s", bytes / (large ? 1e9 : 1e6), large ? "GB" : "MB");
  return text;
}

std::string whole(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f", value);
  return text;
}

/// Requests of a sample, in files as found or in shards, which are read ahead like any large file.
double requests_of(const JobModel& job, const Scenario& scenario) {
  if (!scenario.in_shards.value_or(false)) return *job.requests_per_sample;
  return std::min(*job.requests_per_sample, *job.sample_bytes / k_usual_read_ahead);
}

void apply_iops(const JobModel& job, const Scenario& scenario, Setting& setting, Uncertainty& uncertain) {
  if (!scenario.storage_iops) return;
  const double requests = requests_of(job, scenario);
  const double found_s = storage_cost(job, setting, {}).demand_s;
  setting.least_demand_s = requests * readers_of(job, scenario, setting) / scenario.storage_iops->value();
  if (found_s > 0.0 && setting.least_demand_s > found_s) {
    uncertain.making += squared(k_layout_sd * doublings(setting.least_demand_s, found_s));
    if (setting.least_demand_s > k_within_measured_factor * found_s) setting.extrapolated = true;
  } else if (found_s <= 0.0) {
    setting.extrapolated = true;
  }
  char text[160];
  std::snprintf(text, sizeof text, "a sample from storage takes %.2g requests; ", requests);
  setting.notes.push_back(text +
                          std::string(scenario.storage_bandwidth
                                          ? "the storage gives what storage_bandwidth and storage_iops both allow"
                                          : "the bandwidth of the storage stays as found beside storage_iops: add "
                                            "storage_bandwidth=500MB/s for another"));
}

void note_shards(const JobModel& job, const Scenario& scenario, Setting& setting) {
  const double shard = scenario.shard.value();
  setting.notes.push_back("a shard holds about " + whole(std::max(1.0, std::floor(shard / *job.sample_bytes))) +
                          " samples; shuffling shards, and samples within groups of g of them, is less random than "
                          "shuffling samples and takes g x " +
                          megabytes(shard) + " of memory in each worker");
}

/// Each shard costs what each file did, and its samples the stream (shards::shard_s).
Status apply_shards(const JobModel& job, const Scenario& scenario, Setting& setting, Uncertainty& uncertain) {
  const double sample = *job.sample_bytes;
  const double shard = scenario.shard.value();
  if (shard < sample) {
    return Error{
        ErrorCode::usage,
        "layout: a shard of " + megabytes(shard) + " does not hold one sample of " + megabytes(sample),
        "write a larger one, for example layout=shards:" + whole(std::ceil(10.0 * sample / 1048576.0)) + "MiB"};
  }
  const double kept = sample / shard;  // opens and first bytes, of those as found
  if (setting.latency_s) {
    *setting.latency_s *= kept;
  } else {
    const shards::Stream stream{*job.first_byte_s, *job.stream_bandwidth};
    setting.latency_factor = shards::shard_s(sample, shard, stream) / shards::file_s(sample, stream);
    if (!setting.demand_s && job.storage_demand_s) {
      const double ceiling = job.ranks_per_host * sample / *job.storage_demand_s;
      setting.demand_factor = ceiling / shards::sure_ceiling(ceiling, sample, shard, stream);
    }
  }
  setting.metadata_s *= kept;
  uncertain.making += squared(k_layout_sd * doublings(setting.latency_factor, 1.0));
  setting.extrapolated = true;
  note_shards(job, scenario, setting);
  if (!setting.demand_s) {
    setting.notes.emplace_back(
        "what the storage gives all readers of shards together is taken from files, or from one stream where that is "
        "faster: a lower bound; add storage_bandwidth=500MB/s if you know it (stallcast storage on large files)");
  }
  return {};
}

/// Opens and stats of a sample wait for nobody any more. What they waited is taken for latency, never for a share of
/// the storage's bandwidth.
void apply_snapshot(const JobModel& job, const Scenario& scenario, Setting& setting, Uncertainty& uncertain) {
  if (!scenario.metadata_snapshot.value_or(false)) return;
  if (setting.latency_s) {
    setting.notes.emplace_back(
        "storage_latency is what a sample waits, whatever for: metadata=snapshot changes nothing beside it");
    return;
  }
  setting.metadata_s = *job.metadata_s;
  uncertain.making += squared(k_metadata_sd * *job.metadata_share);
  char text[200];
  std::snprintf(text, sizeof text,
                "opens and stats took %.0f %% of the time of reading a sample; a snapshot needs a data set that does "
                "not change, and is made anew when it does",
                100.0 * *job.metadata_share);
  setting.notes.emplace_back(text);
}

void note_staging(const JobModel& job, const Scenario& scenario, double share, Setting& setting) {
  std::string text = "each node's own disk holds ";
  if (share < 1.0) {
    text += whole(100.0 * share) + " % of the data, the first that was read, and the rest comes from storage";
  } else {
    text += "the whole data set" + (job.dataset_bytes ? " (" + megabytes(*job.dataset_bytes) + ")" : std::string());
  }
  setting.notes.push_back(text + "; it is taken to write as fast as it reads, without latency");
  if (scenario.staging != Staging::overlap || setting.nodes <= 1) return;
  setting.notes.push_back("each of " + std::to_string(setting.nodes) +
                          " nodes stages what it is dealt: " + whole(100.0 * staging::staged_share(setting.nodes, 1)) +
                          " % in the first epoch, 95 % after " +
                          std::to_string(staging::epochs_to_stage(setting.nodes, k_nearly_all_staged)) +
                          " where every epoch deals anew; the rate is that of later ones");
}

/// Every node copies what its disk will hold, as fast as storage and disk allow.
void apply_copy(const JobModel& job, double share, double write_s, Setting& setting) {
  if (!job.dataset_samples) return;  // then no epoch has a time either
  const double on_a_node = setting.ranks_per_node * setting.jobs;
  const double storage_s = storage_cost(job, setting, {}).demand_s;
  // A node's readers divide its storage, all nodes' the shared one: each copies for itself.
  const double sample_s = std::max({storage_s / on_a_node, setting.shared_s / on_a_node, write_s});
  setting.copy_s = *job.dataset_samples * share * sample_s;
}

Status apply_staging(const JobModel& job, const Scenario& scenario, Setting& setting, Uncertainty& uncertain) {
  if (scenario.staging.value_or(Staging::none) == Staging::none) {
    if (scenario.local_disk || scenario.local_disk_bandwidth) {
      setting.notes.emplace_back("a local disk matters with staging=before or staging=overlap only");
    }
    return {};
  }
  if (!scenario.local_disk_bandwidth) {
    return Error{ErrorCode::usage, "staging needs to know what the nodes' own disks give",
                 "add local_disk_bandwidth=2GB/s, and local_disk=1TB if the data may not fit"};
  }
  const double share =
      scenario.local_disk ? staging::disk_share(scenario.local_disk->value(), *job.dataset_bytes) : 1.0;
  const double alone_s = *job.sample_bytes / scenario.local_disk_bandwidth->value();
  if (*scenario.staging == Staging::before) apply_copy(job, share, alone_s, setting);
  setting.staging = scenario.staging;
  setting.staged = share;
  setting.staged_s = alone_s;
  setting.staged_share_s = alone_s * setting.ranks_per_node * setting.jobs;
  uncertain.making += squared(k_staged_disk_sd);
  setting.extrapolated = true;
  note_staging(job, scenario, share, setting);
  return {};
}

/// The key of those below that was asked for first; empty if none was.
const char* key_of(const Scenario& scenario) {
  if (scenario.storage_iops) return "storage_iops";
  if (scenario.in_shards.value_or(false)) return "layout";
  if (scenario.metadata_snapshot.value_or(false)) return "metadata";
  return scenario.staging.value_or(Staging::none) != Staging::none ? "staging" : "";
}

}  // namespace

double readers_of(const JobModel& job, const Scenario& scenario, const Setting& setting) {
  const bool laid_out = scenario.nodes || scenario.gpus_per_node || scenario.jobs;
  return laid_out ? setting.ranks_per_node * setting.jobs : job.ranks;
}

Status apply_data(const JobModel& job, const Scenario& scenario, Setting& setting, Uncertainty& uncertain) {
  const std::string key = key_of(scenario);
  if (!key.empty() && setting.miss_most <= 0.0) {
    setting.notes.push_back("everything is read from memory here, so " + key + " does not matter");
    // But for the first epoch, in which nothing is there yet.
    return job.storage_s ? apply_staging(job, scenario, setting, uncertain) : Status{};
  }
  apply_snapshot(job, scenario, setting, uncertain);
  if (scenario.in_shards.value_or(false)) {
    STALLCAST_RETURN_IF_ERROR(apply_shards(job, scenario, setting, uncertain));
  }
  apply_iops(job, scenario, setting, uncertain);
  return apply_staging(job, scenario, setting, uncertain);
}

}  // namespace stallcast::setting_parts

namespace stallcast {

std::optional<Setting> first_epoch(const Setting& setting) {
  if (!setting.staging) return std::nullopt;
  Setting first = setting;
  first.staging.reset();
  first.miss = first.miss_least = first.miss_most = 1.0;
  first.remote = 0.0;
  if (*setting.staging == Staging::overlap) {
    first.written_share_s = setting.staged * setting.staged_share_s;
    first.staged = 0.0;
  }
  return first;
}

}  // namespace stallcast
