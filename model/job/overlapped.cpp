#include "model/job/overlapped.hpp"

#include <algorithm>
#include <array>

#include "model/job/constants.hpp"

namespace stallcast {
namespace {

struct AskedKey {
  bool is_set = false;
  const char* key = "";
};

/// The first of them that is set; nullptr if none is.
template <std::size_t N>
const char* first_set(const std::array<AskedKey, N>& keys) {
  const auto found = std::find_if(keys.begin(), keys.end(), [](const AskedKey& asked) { return asked.is_set; });
  return found != keys.end() ? found->key : nullptr;
}

/// Keys that change how long fetching or preparing takes.
const char* loader_key(const Scenario& s) {
  return first_set(
      std::array<AskedKey, 20>{{{s.cache_fraction || s.cache_size, "cache"},
                                {s.cache_policy.has_value(), "cache_policy"},
                                {s.cpus.has_value(), "cpus"},
                                {s.storage_bandwidth.has_value(), "storage_bandwidth"},
                                {s.storage_latency.has_value(), "storage_latency"},
                                {s.storage_iops.has_value(), "storage_iops"},
                                {s.in_shards.value_or(false), "layout"},
                                {s.metadata_snapshot.value_or(false), "metadata"},
                                {s.staging.value_or(Staging::none) != Staging::none, "staging"},
                                {s.local_disk_bandwidth || s.local_disk, "local_disk_bandwidth"},
                                {!s.operators.empty(), "operator"},
                                {s.gpus_per_node.has_value(), "gpus_per_node"},
                                {s.shared_storage_bandwidth.has_value(), "shared_storage_bandwidth"},
                                {s.shared_storage_files_per_s.has_value(), "shared_storage_files_per_s"},
                                {s.shared_storage_metadata_per_s.has_value(), "shared_storage_metadata_per_s"},
                                {s.shared_storage_contention.has_value(), "shared_storage_contention"},
                                {s.shared_storage_coherence.has_value(), "shared_storage_coherence"},
                                {s.prep_cpus.has_value(), "prep_cpus"},
                                {s.jobs.has_value(), "jobs"},
                                {s.coordinated_prep.has_value(), "coordinated_prep"}}});
}

}  // namespace

void read_overlapped(const Profile& profile, JobModel& job) {
  const double step_s = job.batch / job.rate;
  job.overlapped = true;
  job.loader_kind = profile.job.loader_kind;
  job.workers = 1;
  job.prefetch = 2;
  job.in_order = true;
  job.loader_binds = step_s - job.compute_s > k_loader_binds_from * step_s;
  job.other_s = job.loader_binds ? step_s / job.batch : 0.0;
  job.cv_make = 0.0;
  job.making = {};
  job.loader_bound = profile.rates.cached && profile.stalls.as_is_fetch ? "prep" : "loader";
  // The process's CPU time holds the loader's threads: what of it is the step's is not known.
  job.step_cpu_s = 0.0;
  job.step_threads = 1.0;
  job.device_s = job.compute_s;
  std::erase_if(job.missing,
                [](const MissingInput& m) { return m.input == Input::workers || m.input == Input::making_times; });
}

Status check_overlapped(const JobModel& job, const Scenario& scenario) {
  if (!job.overlapped) return {};
  if (scenario.workers || scenario.prefetch) {
    const char* key = scenario.workers ? "workers" : "prefetch";
    return Error{ErrorCode::usage,
                 std::string("the scenario key '") + key +
                     "' is of loaders with worker processes, and this job loads " + "with " + job.loader_kind +
                     ", which has threads of its own",
                 "change the pipeline in the script, profile that and compare: stallcast diff"};
  }
  if (const char* key = loader_key(scenario); key != nullptr) {
    return Error{ErrorCode::not_enough_data,
                 std::string("the scenario key '") + key + "' needs what fetching and preparing take by themselves, " +
                     "which is not seen of a loader that does both side by side (" + job.loader_kind + ")",
                 "make the change, profile that and compare: stallcast diff"};
  }
  if (scenario.gpu_speedup.value_or(1.0) > 1.0 && !job.loader_binds) {
    return Error{
        ErrorCode::not_enough_data,
        "the scenario key 'gpu_speedup' needs how fast the loader could deliver, which a job that hardly waits "
        "does not show (" +
            job.loader_kind + ")",
        "needed: a profile in which the job waits for it, for example with a smaller model"};
  }
  return {};
}

}  // namespace stallcast
