#include "model/setting/evidence.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "model/setting/constants.hpp"

namespace stallcast {
namespace {

using OfJob = const JobModel&;
using Asked = const Scenario&;
using Made = const Setting&;

bool stages(Asked asked) {
  return asked.staging.value_or(Staging::none) != Staging::none;
}

bool is_of_several_nodes(Asked asked) {
  return asked.cache_policy == CachePolicy::partitioned || asked.cache_policy == CachePolicy::locality;
}

bool is_share_unsaid(Asked asked) {
  return asked.cache_policy && !asked.cache_fraction && !asked.cache_size;
}

/// Something is read from storage, and the scenario does not say all that it takes.
bool reads_unsaid(Made made) {
  return made.miss_most > 0.0 && !(made.demand_s && made.latency_s);
}

bool reads(Made made) {
  return made.miss_most > 0.0;
}

bool in_shards(Asked asked) {
  return asked.in_shards.value_or(false);
}

bool by_snapshot(Asked asked) {
  return asked.metadata_snapshot.value_or(false);
}

constexpr std::array<EvidenceRow, 30> k_rows{{
    {"cpus", Input::cores, [](OfJob, Asked asked, Made) { return asked.cpus.has_value(); }},
    {"workers", Input::workers, [](OfJob, Asked asked, Made) { return asked.workers.has_value(); }},
    {"prefetch", Input::workers, [](OfJob, Asked asked, Made) { return asked.prefetch.has_value(); }},
    {"operator", Input::operators, [](OfJob, Asked asked, Made) { return !asked.operators.empty(); }},
    {"cache", Input::dataset_bytes, [](OfJob, Asked asked, Made) { return asked.cache_size && !asked.cache_fraction; }},
    {"cache_policy", Input::dataset_bytes, [](OfJob, Asked asked, Made) { return is_share_unsaid(asked); }},
    {"cache_policy", Input::page_cache, [](OfJob, Asked asked, Made) { return is_share_unsaid(asked); }},
    {"cache_policy", Input::sample_bytes,
     [](OfJob, Asked asked, Made made) { return is_of_several_nodes(asked) && asked.nodes.value_or(made.nodes) > 1; }},
    {"storage_bandwidth", Input::sample_bytes,
     [](OfJob, Asked asked, Made) { return asked.storage_bandwidth.has_value(); }},
    {"local_disk", Input::dataset_bytes, [](OfJob, Asked asked, Made) { return stages(asked) && asked.local_disk; }},
    {"layout", Input::files_per_sample, [](OfJob, Asked asked, Made) { return asked.in_shards && !*asked.in_shards; }},
    {"prep_cpus", Input::prepared_bytes, [](OfJob, Asked asked, Made) { return asked.prep_cpus.has_value(); }},
    {"shared_storage_bandwidth", Input::sample_bytes,
     [](OfJob, Asked asked, Made) { return asked.shared_storage_bandwidth.has_value(); }},
    {"shared_storage_files_per_s", Input::files_per_sample,
     [](OfJob, Asked asked, Made) { return asked.shared_storage_files_per_s.has_value(); }},
    {"shared_storage_metadata_per_s", Input::opens_per_sample,
     [](OfJob, Asked asked, Made) { return asked.shared_storage_metadata_per_s && !by_snapshot(asked); }},
    {"shared_storage_contention", Input::one_node,
     [](OfJob, Asked asked, Made) { return asked.shared_storage_contention && !asked.storage_bandwidth; }},
    {"shared_storage_coherence", Input::one_node,
     [](OfJob, Asked asked, Made) { return asked.shared_storage_coherence && !asked.storage_bandwidth; }},

    {"storage_bandwidth", Input::storage_cost,
     [](OfJob, Asked asked, Made made) { return asked.storage_bandwidth && reads_unsaid(made); }, true},
    {"storage_latency", Input::storage_cost,
     [](OfJob, Asked asked, Made made) { return asked.storage_latency && reads_unsaid(made); }, true},
    {"storage_iops", Input::storage_cost,
     [](OfJob, Asked asked, Made made) { return asked.storage_iops && reads_unsaid(made); }, true},
    {"storage_iops", Input::requests_per_sample,
     [](OfJob, Asked asked, Made made) { return asked.storage_iops && reads(made); }, true},
    {"layout", Input::storage_cost,
     [](OfJob, Asked asked, Made made) { return in_shards(asked) && reads_unsaid(made); }, true},
    {"layout", Input::sample_bytes, [](OfJob, Asked asked, Made made) { return in_shards(asked) && reads(made); },
     true},
    {"layout", Input::files_per_sample, [](OfJob, Asked asked, Made made) { return in_shards(asked) && reads(made); },
     true},
    {"layout", Input::stream,
     [](OfJob, Asked asked, Made made) { return in_shards(asked) && reads(made) && !made.latency_s; }, true},
    {"metadata", Input::storage_cost,
     [](OfJob, Asked asked, Made made) { return by_snapshot(asked) && reads_unsaid(made); }, true},
    {"metadata", Input::metadata_time,
     [](OfJob, Asked asked, Made made) { return by_snapshot(asked) && reads(made) && !made.latency_s; }, true},
    {"staging", Input::storage_cost, [](OfJob, Asked asked, Made made) { return stages(asked) && reads_unsaid(made); },
     true},
    {"staging", Input::sample_bytes,
     [](OfJob job, Asked asked, Made made) { return stages(asked) && (reads(made) || job.storage_s); }, true},
    // Whoever asks for more from storage than as found, whatever else is asked.
    {"cache", Input::storage_cost,
     [](OfJob job, Asked, Made made) { return made.miss > job.miss + k_same_share && reads_unsaid(made); }, true},
}};

bool is_known(const JobModel& job, Input input) {
  return std::none_of(job.missing.begin(), job.missing.end(),
                      [&](const MissingInput& missing) { return missing.input == input; });
}

Error unmeasured(const JobModel& job, const EvidenceRow& row) {
  const auto missing = std::find_if(job.missing.begin(), job.missing.end(),
                                    [&](const MissingInput& known) { return known.input == row.needs; });
  return Error{ErrorCode::not_enough_data,
               "the scenario key '" + std::string(row.key) + "' needs the " + std::string(name_of(row.needs)) +
                   ", which this profile lacks" + (missing->reason.empty() ? "" : " (" + missing->reason + ")"),
               "needed: " + missing->unlocked_by};
}

}  // namespace

std::span<const EvidenceRow> evidence_table() {
  return k_rows;
}

Status check_evidence(const JobModel& job, const Scenario& scenario, const Setting& setting, bool after_cache) {
  for (const EvidenceRow& row : k_rows) {
    if (row.after_cache != after_cache || is_known(job, row.needs)) continue;
    if (row.is_asked(job, scenario, setting)) return unmeasured(job, row);
  }
  return {};
}

}  // namespace stallcast
