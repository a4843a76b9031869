#include "model/job/unseen_reads.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "model/job/constants.hpp"

namespace stallcast {
namespace {

struct AskedOfUnseen {
  bool is_set = false;
  const char* key = "";
};

template <std::size_t Count>
const char* first_asked(const std::array<AskedOfUnseen, Count>& keys) {
  const auto found = std::find_if(keys.begin(), keys.end(), [](const AskedOfUnseen& asked) { return asked.is_set; });
  return found != keys.end() ? found->key : nullptr;
}

/// The first key that changes how much comes from storage, or how fast; nullptr if none does.
const char* storage_key(const Scenario& s) {
  return first_asked(std::array<AskedOfUnseen, 5>{{{s.cache_fraction || s.cache_size, "cache"},
                                                   {s.cache_policy.has_value(), "cache_policy"},
                                                   {s.storage_bandwidth.has_value(), "storage_bandwidth"},
                                                   {s.storage_latency.has_value(), "storage_latency"},
                                                   {s.storage_iops.has_value(), "storage_iops"}}});
}

/// The first key that changes where the data lie, or how.
const char* place_key(const Scenario& s) {
  return first_asked(
      std::array<AskedOfUnseen, 8>{{{s.in_shards.value_or(false), "layout"},
                                    {s.staging.value_or(Staging::none) != Staging::none, "staging"},
                                    {s.local_disk_bandwidth || s.local_disk, "local_disk_bandwidth"},
                                    {s.shared_storage_bandwidth.has_value(), "shared_storage_bandwidth"},
                                    {s.shared_storage_files_per_s.has_value(), "shared_storage_files_per_s"},
                                    {s.shared_storage_metadata_per_s.has_value(), "shared_storage_metadata_per_s"},
                                    {s.shared_storage_contention.has_value(), "shared_storage_contention"},
                                    {s.shared_storage_coherence.has_value(), "shared_storage_coherence"}}});
}

/// Of what page faults alone tell, no more can be asked than what it is like without them.
Status check_faults(const Scenario& scenario) {
  const bool all_cached =
      !scenario.cache_size && scenario.cache_fraction.value_or(1.0) >= 1.0 && !scenario.cache_policy;
  const char* key = place_key(scenario);
  if (key == nullptr && !(all_cached && scenario.cache_fraction)) key = storage_key(scenario);
  if (key == nullptr) return {};
  return Error{
      ErrorCode::not_enough_data,
      std::string("the scenario key '") + key +
          "' needs how much of a sample comes from storage, which this profile lacks: the data are read through "
          "maps of their files (mmap), whose page faults tell what storage takes as found",
      std::string("cache=100% can be asked; else needed: ") + k_read_calls};
}

}  // namespace

void read_unseen_reads(const Profile& profile, JobModel& job) {
  // The warning alone may be of libraries that were loaded from storage, or of data that are in memory by now.
  // Where cold and cached blocks were made of them, phases tell what reading costs.
  job.reads_mapped = !profile.dataset.bytes_per_sample && profile.dataset.stored_bytes_per_sample &&
                     profile.resources.worker_wall_cold && profile.resources.worker_wall_cached;
  job.reads_unseen = !job.reads_mapped && !profile.stalls.as_is_fetch &&
                     std::any_of(profile.issues.begin(), profile.issues.end(),
                                 [](const DataIssue& issue) { return issue.id == "reads-unseen"; });
  job.reads_by_faults =
      profile.job.loader_kind == "function" && profile.stalls.as_is_fetch.has_value() &&
      !profile.dataset.bytes_per_sample && !profile.resources.bytes_from_storage && profile.resources.read &&
      profile.resources.worker_wall &&
      profile.resources.read->mean.value() > k_hardly_reads * profile.resources.worker_wall->mean.value();
  if (!job.reads_unseen) return;
  job.loader_bound = "loader";
  job.notes.emplace_back(
      "the data are read in a way that is not seen (through maps of files, or by programs that the loader starts): "
      "what "
      "storage takes of a sample's time, and how much it can give more workers, is not known");
}

Status check_unseen_reads(const JobModel& job, const Scenario& scenario) {
  const char* place = job.reads_unseen || job.reads_mapped ? place_key(scenario) : nullptr;
  if (place != nullptr && job.reads_mapped) {
    return Error{
        ErrorCode::not_enough_data,
        std::string("the scenario key '") + place +
            "' needs what a sample takes of its file, which this profile lacks: the data are read through maps "
            "of their files (mmap), and what storage gives of them holds what the kernel reads around a page",
        std::string("needed: ") + k_read_calls};
  }
  if (job.reads_by_faults) return check_faults(scenario);
  const char* storage = job.reads_unseen ? storage_key(scenario) : nullptr;
  const char* key = storage != nullptr ? storage : place;
  if (key == nullptr) return {};
  return Error{
      ErrorCode::not_enough_data,
      std::string("the scenario key '") + key +
          "' needs the cost of reading from storage, which this profile lacks: the data are read in a way that "
          "is not seen (through maps of files, or by programs that the loader starts)",
      std::string("needed: ") + k_read_calls};
}

}  // namespace stallcast
