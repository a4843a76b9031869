#include "model/job/job_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "analyzer/profile/dataset_bytes.hpp"
#include "core/other_load.hpp"
#include "model/analytic/closed_form.hpp"
#include "model/job/constants.hpp"
#include "model/job/inputs.hpp"
#include "model/job/operators.hpp"
#include "model/job/overlapped.hpp"
#include "model/job/stream_reads.hpp"
#include "model/job/unseen_reads.hpp"

namespace stallcast {
namespace {

using namespace inputs;  // NOLINT(google-build-using-namespace): how a profile's values are read

constexpr const char* k_profile_cold =
    "a profile of a run whose files are not in memory (cold), or --set storage_bandwidth=.. "
    "together with --set storage_latency=..";

void miss_input(JobModel& job, Input input, std::string reason, std::string unlocked_by) {
  job.missing.push_back({input, std::move(reason), std::move(unlocked_by)});
}

Error lacks(const char* what, const std::string& reason) {
  return Error{ErrorCode::not_enough_data,
               std::string("the profile has no ") + what + (reason.empty() ? "" : ": " + reason), k_profile_more};
}

void read_loader(const Profile& profile, JobModel& job) {
  const Job& facts = profile.job;
  job.ranks = std::max(1, facts.ranks_seen);
  job.ranks_per_host = static_cast<double>(job.ranks) / std::max(1, profile.host.hosts_seen);
  job.workers = static_cast<int>(std::clamp<std::int64_t>(facts.num_workers.value_or(0), 0, 1024));
  job.prefetch = static_cast<int>(std::clamp<std::int64_t>(facts.prefetch_factor.value_or(2), 1, 1024));
  job.in_order = facts.in_order.value_or(true);
  job.cores = profile.host.usable_cpus / job.ranks_per_host;
  if (!(profile.host.usable_cpus > 0.0) || !plausible(profile.host.usable_cpus)) {
    job.cores = k_unknown_cores;
    miss_input(job, Input::cores, "the profile does not say how many cores the job may use", k_profile_more);
  }
  if (!facts.num_workers) {
    miss_input(job, Input::workers, facts.num_workers.reason(), "a job with a torch DataLoader");
  }
}

/// Of a batch that lay ready: what its step takes with no loader beside it. A traced device tells more, and others
/// on the cores are in it.
std::optional<double> burst_step_s(const Profile& profile, const JobModel& job) {
  if (!known_rate(profile.rates.synthetic) || !known(profile.resources.step_cpu) || job.kernel_s) return std::nullopt;
  return job.batch * job.ranks / profile.rates.synthetic->mean.value();
}

/// The step: what is measured of it as found holds the workers' interference already, which is taken out again; what
/// batches that lay ready show of it does not.
void read_step(const Profile& profile, JobModel& job) {
  const double batches = static_cast<double>(std::max<std::int64_t>(1, profile.job.batches_per_step.value_or(1)));
  const Estimate<Seconds>& compute = *profile.resources.compute;
  job.compute_s = std::clamp(compute.mean.value() / batches, 0.0, job.batch / job.rate);
  // Both are of the run's own window: at the rate that blocks tell another share would come out.
  const double step_s = mean_or(profile.resources.step, 0.0);
  const double computes = step_s > 0.0 ? compute.mean.value() / step_s : job.compute_s * job.rate / job.batch;
  job.found_stall = std::clamp(1.0 - computes, 0.0, 1.0);
  job.compute_relative_sd = job.compute_s > 0.0 ? relative_sd(compute) : k_least_relative_sd;
  const bool step_known = known(profile.resources.step_cpu);
  // A processor's speed drifts: what cached blocks show is of the same rounds as the bursts.
  const auto& in_blocks = profile.resources.consumer_cpu_cached;
  const double as_found_cpu = mean_or(profile.resources.consumer_cpu, 0.0);
  const double all_cpu = (step_known ? mean_or(in_blocks, as_found_cpu) : as_found_cpu) * job.batch;
  double cpu = step_known ? profile.resources.step_cpu->mean.value() * job.batch : all_cpu;
  if (!known(profile.resources.consumer_cpu)) {
    job.notes.emplace_back("the step's own use of CPU cores was not measured: it is taken not to need any");
  }
  if (known(profile.gpu.busy_time)) job.kernel_s = std::max(0.0, profile.gpu.busy_time->mean.value()) / batches;
  if (step_known && job.workers > 0) job.receive_cpu_s = std::max(0.0, all_cpu - cpu);
  if (const auto receive = receiving_as_found(profile, job); receive && !step_known) {
    // Nothing tells the two apart: they are taken to compute alike.
    job.receive_cpu_s = std::min(*receive, cpu * *receive / std::max(*receive + job.compute_s, 1e-12));
    cpu -= job.receive_cpu_s;
  }
  // Without workers it makes the batches as well.
  if (!step_known && job.workers == 0) cpu = std::max(0.0, cpu - job.cpu_s * job.batch);
  job.burst_s = burst_step_s(profile, job);
  if (job.burst_s) job.compute_relative_sd = relative_sd(*profile.rates.synthetic);
  const double wall_s = job.burst_s.value_or(job.compute_s);
  // On average: a step of which some is done by two threads and most by one is not one of two threads.
  if (cpu > k_several_threads_from * wall_s) job.step_threads = cpu / std::max(wall_s, 1e-12);
  job.step_threads = std::min(job.step_threads, std::max(1.0, job.cores));
  job.step_cpu_s = std::min(cpu / job.step_threads, wall_s);
}

/// What the consumer computes beside a loader and a synthetic step does not is receiving, as far as that takes so long.
/// The rest lies in the step: pages and caches of a batch that came just now.
void divide_consumer_cpu(const Profile& profile, JobModel& job) {
  const double wall_s = std::max(job.compute_s, job.burst_s.value_or(0.0));
  const bool computes = !job.kernel_s && job.step_cpu_s > 0.5 * wall_s;  // threads of a pinning loader do not
  if (!computes || job.workers == 0 || profile.job.pin_memory.value_or(true)) return;
  const double over = std::max(0.0, job.receive_cpu_s - job.receive_s);
  const double beside_s = std::min(job.step_cpu_s + over / job.step_threads, wall_s);
  if (!(beside_s > job.step_cpu_s)) return;
  job.receive_cpu_s -= (beside_s - job.step_cpu_s) * job.step_threads;
  job.step_cpu_alone = job.step_cpu_s / beside_s;
  job.step_cpu_s = beside_s;
}

/// How much longer workers and consumer take to compute for want of cores, by the job's own doing, as found.
struct Crowding {
  double worker = 1.0;
  double step = 1.0;
  double receiving = 1.0;
};

Crowding crowding_as_found(const JobModel& job) {
  Crowding slow{1.0, std::max(1.0, job.step_threads / job.cores)};
  if (job.workers == 0) {
    slow.worker = std::max(1.0, 1.0 / job.cores);
    return slow;
  }
  const double computing = std::min(1.0, job.rate * (job.cpu_s + job.core_wait_s) / job.workers);
  const double stepping = std::min(1.0, job.step_cpu_s * job.rate / job.batch);
  const double alone = mean_crowding(job.workers - 1, computing, 0.0, job.cores);
  const double with_step = mean_crowding(job.workers - 1, computing, job.step_threads, job.cores);
  slow.worker = alone + stepping * (with_step - alone);
  slow.step = mean_crowding(job.workers, computing, job.step_threads - 1.0, job.cores);
  slow.receiving = mean_crowding(job.workers, computing, 0.0, job.cores);
  return slow;
}

/// Takes out of the measured step what the workers' presence adds to it, and finds what others' presence adds. Sharing
/// is estimated as if it were even, which the kernel's is not.
void take_interference_out(const Profile& profile, JobModel& job) {
  const Crowding slow = crowding_as_found(job);
  if (job.cpu_s > 0.0 && !nobody_else(profile.resources.other_cpus, job.cores * job.ranks_per_host)) {
    const double seen = 1.0 + job.core_wait_s / job.cpu_s;
    if (seen > k_own_crowding * slow.worker) job.disturbance = seen / slow.worker;
  }
  if (job.disturbance > 1.0) {
    char text[160];
    std::snprintf(text, sizeof text,
                  "other jobs seem to share these cores: computing took %.1f times as long as this job alone explains; "
                  "predictions hold beside the same load",
                  job.disturbance);
    job.notes.emplace_back(text);
    job.cpu_s *= job.disturbance;
    job.step_cpu_s *= job.disturbance;
  }
  if (!known(profile.resources.step_cpu)) {  // else it comes from blocks
    const double crowded_s = std::min(job.receive_cpu_s, job.receive_s) * (slow.receiving - 1.0);
    job.receive_s = std::max(std::min(job.receive_cpu_s, job.receive_s), job.receive_s - crowded_s);
  }
  if (job.burst_s && job.disturbance <= 1.0) {
    job.device_s = std::max(0.0, *job.burst_s - job.step_cpu_alone * job.step_cpu_s);
    return;
  }
  // CPU time was measured and holds, however the kernel shared; what others add to it is no more than the step took.
  job.step_cpu_s = std::min(job.step_cpu_s, job.compute_s / (job.disturbance > 1.0 ? slow.step : 1.0));
  job.device_s = std::max(0.0, job.compute_s - job.step_cpu_s * slow.step);
  if (job.kernel_s) {
    // A host that spins while it waits for the device looks like one that computes: the device knows better.
    job.kernel_s = std::min(*job.kernel_s, job.compute_s);
    job.device_s = std::max(job.device_s, *job.kernel_s);
    job.step_cpu_s = std::min(job.step_cpu_s, (job.compute_s - job.device_s) / slow.step);
  }
}

/// Bytes that a missed sample takes from storage: as cold blocks counted them where that is more; the
/// page cache is filled by pages, so a file's last one comes whole.
std::optional<double> stored_bytes(const Profile& profile, std::optional<double> sample_bytes) {
  constexpr double k_page = 4096.0;
  const bool ahead = more_than_needed(profile.dataset, profile.job.dataset_samples).has_value();
  if (ahead) return value_of(profile.dataset.stored_bytes_per_sample);
  const auto& file = profile.dataset.file_size_bytes;
  if (!sample_bytes || profile.dataset.layout != "files" || !file || !(file->mean > 0.0)) return sample_bytes;
  if (*sample_bytes < k_whole_file_share * file->mean) return sample_bytes;  // not all of a file
  // All but a stray file or two in the bin of the largest: they are of one size.
  const bool same_size = !file->counts.empty() &&
                         static_cast<double>(file->counts.back()) >= k_same_size_share * static_cast<double>(file->n);
  const double padding = same_size ? k_page * std::ceil(file->max / k_page) - file->max : k_page / 2.0;
  return *sample_bytes + padding;
}

/// Where a worker's time goes; false if that was not measured.
bool read_worker(const Profile& profile, JobModel& job) {
  const Resources& in = profile.resources;
  if (!known(in.worker_wall) || !known(in.worker_cpu)) return false;
  const double wall = std::max(0.0, in.worker_wall->mean.value());
  const double read = mean_or(in.read, 0.0);
  read_unseen_reads(profile, job);
  const double miss_of_maps = in.bytes_from_storage ? std::clamp(*in.bytes_from_storage, 0.0, 1.0) : 1.0;
  const double of_maps = miss_of_maps * (mean_or(in.worker_wall_cold, 0.0) - mean_or(in.worker_wall_cached, 0.0));
  const double waited = job.reads_mapped ? of_maps : read - mean_or(in.read_from_memory, 0.0);
  const bool share_known = in.bytes_from_storage && plausible(*in.bytes_from_storage);
  const bool hardly_reads = !share_known && waited < k_least_reading * wall;
  const double storage = job.reads_unseen || hardly_reads ? 0.0 : std::clamp(waited, 0.0, wall);
  job.cpu_s = std::clamp(in.worker_cpu->mean.value(), 0.0, wall - storage);
  job.collate_s = std::clamp(mean_or(in.collate, 0.0), 0.0, k_most_collating * job.cpu_s);
  job.core_wait_s = std::clamp(mean_or(in.worker_run_delay, 0.0), 0.0, wall - storage - job.cpu_s);
  if (!known(in.worker_run_delay) && job.workers > 0) {
    job.notes.emplace_back("how long workers waited for a core was not measured: such waiting counts as fixed here");
  }
  job.other_s = wall - storage - job.cpu_s - job.core_wait_s;
  job.handover_s = std::min(job.other_s, job.workers > 0 ? mean_or(in.handover, 0.0) : 0.0);
  job.miss = as_found_is_cold(profile) ? 1.0
             : share_known             ? std::min(1.0, *in.bytes_from_storage)
             : storage > 0.0           ? 1.0
                                       : 0.0;
  if (job.miss >= k_least_miss && storage > 0.0) {
    job.storage_s = storage / job.miss;
    job.storage_presence = std::min(1.0, job.rate * storage / std::max(1, job.workers));
    if (!share_known) {
      job.notes.emplace_back(
          "how much came from storage was not measured: every read is taken to have come from there");
    }
  } else {
    miss_input(
        job, Input::storage_cost,
        in.bytes_from_storage ? "hardly anything was read from storage in this run" : in.bytes_from_storage.reason(),
        job.reads_unseen ? k_read_calls : k_profile_cold);
    job.other_s += storage;  // what little there was stays as found
  }
  return true;
}

/// Reading from storage costs CPU time as well, and a worker that slept for its bytes finds the processor's caches
/// cold: one that is served from memory computes less for each sample. Cold blocks tell how much less, in the same
/// rounds as cached ones: what ran as found came before them, and a processor's speed drifts.
void take_cpu_of_cached(const Profile& profile, JobModel& job) {
  const auto& cached = profile.resources.worker_cpu_cached;
  if (!known(cached) || !(cached->mean.value() > 0.0) || job.overlapped) return;
  const double hit = cached->mean.value();
  const double found = profile.resources.worker_cpu->mean.value();
  const auto& cold = profile.resources.worker_cpu_cold;
  if (job.storage_s && known(cold)) {
    job.miss_cpu_s = std::clamp(cold->mean.value() - hit, 0.0, *job.storage_s);
  } else if (job.storage_s && job.miss >= k_mostly_missed) {
    job.miss_cpu_s = std::clamp((found - hit) / job.miss, 0.0, *job.storage_s);
  }
  // Collating was timed as found: a worker that slept for its bytes computes that more slowly, too.
  job.collate_s = std::min(job.collate_s * std::min(1.0, hit / found), k_most_collating * hit);
  job.cpu_s = hit * job.disturbance;
  job.miss_cpu_s *= job.disturbance;
  job.cpu_of_cached = true;
}

/// File systems that other hosts read as well.
bool is_network_filesystem(const std::string& name) {
  constexpr std::array<std::string_view, 18> k_known{"nfs",  "nfs4",  "lustre", "gpfs",     "beegfs",    "ceph",
                                                     "cifs", "smb3",  "smbfs",  "9p",       "glusterfs", "wekafs",
                                                     "afs",  "panfs", "pvfs2",  "orangefs", "daos",      "juicefs"};
  return name.starts_with("fuse") || std::find(k_known.begin(), k_known.end(), name) != k_known.end();
}

void read_data_and_memory(const Profile& profile, JobModel& job) {
  job.gradient_bytes = value_of(profile.job.gradient_bytes);
  job.prepared_bytes = value_of(profile.job.prepared);
  job.pins = profile.job.pin_memory.value_or(false);
  if (!job.prepared_bytes) {
    miss_input(job, Input::prepared_bytes, profile.job.prepared.reason(), "a loader that delivers tensors or arrays");
  }
  read_exchange(profile, job);
  job.filesystem = profile.dataset.filesystem;
  job.over_network = profile.dataset.layout == "network";
  job.storage_is_shared = job.over_network || is_network_filesystem(job.filesystem);
  if (profile.dataset.layout == "files") job.files_per_sample = 1.0;
  if (!job.files_per_sample) {
    miss_input(job, Input::files_per_sample, "samples do not lie in files of their own",
               "a data set of one file a sample");
  }
  job.sample_bytes = distinct_bytes(profile);
  job.stored_bytes = stored_bytes(profile, job.sample_bytes);
  if (job.reads_mapped) job.sample_bytes = job.stored_bytes = value_of(profile.dataset.stored_bytes_per_sample);
  job.dataset_bytes = value_of(profile.dataset.bytes_total);
  if (profile.job.dataset_samples && *profile.job.dataset_samples > 0) {
    job.dataset_samples = static_cast<double>(*profile.job.dataset_samples);
  }
  job.page_cache_bytes = value_of(profile.resources.page_cache_available);
  job.worker_bytes = value_of(profile.resources.worker_memory);
  job.shm_free_bytes = value_of(profile.host.shm_free);
  job.memory_bytes = value_of(profile.host.memory_limit);
  if (!job.memory_bytes && profile.host.memory.value() > 0.0) job.memory_bytes = profile.host.memory.value();
  read_access(profile, job);
  if (!job.sample_bytes) {
    miss_input(job, Input::sample_bytes, profile.dataset.bytes_per_sample.reason(), k_read_calls);
  }
  if (!job.dataset_bytes) {
    miss_input(job, Input::dataset_bytes, profile.dataset.bytes_total.reason(), "a data set that tells its length");
  }
  if (!job.page_cache_bytes) {
    miss_input(job, Input::page_cache, profile.resources.page_cache_available.reason(),
               "cache=35% or cache=100GiB beside it, which says how much it holds");
  }
}

}  // namespace

/// Ways to use a loader that no setting of it changes: what is measured of it says nothing of its settings.
std::string odd_use(const Profile& profile) {
  const auto has = [&](const char* id) {
    return std::any_of(profile.issues.begin(), profile.issues.end(),
                       [&](const DataIssue& issue) { return issue.id == id; });
  };
  if (has("iterator-per-step"))
    return "each step makes an iterator of its own, with new workers; keep one, and profile again";
  if (has("several-loaders")) return "the steps take batches of several loaders";
  if (has("loader-in-thread"))
    return "another thread than the one whose optimizer steps takes the batches from the loader";
  if (has("nested-loader"))
    return "the data set takes its samples from a loader of its own, with workers; profile a job of that one";
  if (has("batches-given-again")) return "most steps take no batch from the loader";
  return {};
}

Result<JobModel> job_model(const Profile& profile) {
  JobModel job;
  if (const std::string odd = odd_use(profile); !odd.empty())
    return lacks("steps that a loader's settings change", odd);
  const auto& as_is = profile.rates.as_is;
  if (!known_rate(as_is)) return lacks("rate of the job as found", as_is.reason());
  if (!known(profile.resources.compute)) return lacks("time of a step", profile.resources.compute.reason());
  read_loader(profile, job);
  job.rate = as_is->mean.value() / job.ranks;
  job.rate_relative_sd = relative_sd(*as_is);
  const auto& batch = profile.job.batch_size;
  const double step_s = mean_or(profile.resources.step, 0.0);
  const double batches = static_cast<double>(std::max<std::int64_t>(1, profile.job.batches_per_step.value_or(1)));
  job.batch =
      batch && *batch > 0 ? static_cast<double>(*batch) : std::max(1.0, std::round(job.rate * step_s / batches));
  if (profile.job.composition == "overlapped") {
    read_step(profile, job);
    read_variability(profile, job);
    read_overlapped(profile, job);
  } else if (read_worker(profile, job)) {
    read_step(profile, job);
    read_receiving(profile, job);
    divide_consumer_cpu(profile, job);
    take_interference_out(profile, job);
    take_cpu_of_cached(profile, job);
    guess_bandwidth_share(profile, job);
    read_order(profile, job);
    read_storage(profile, job);
    read_variability(profile, job);
  } else {
    return lacks("cost of making a batch in the loader", profile.resources.worker_wall.reason());
  }
  read_data_and_memory(profile, job);
  read_operators(profile, job);
  collect_observations(profile, job);
  storage_from_phases(job);
  take_out_lone_reader(job);
  return job;
}

}  // namespace stallcast
