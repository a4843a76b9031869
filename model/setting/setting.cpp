#include "model/setting/setting.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "model/analytic/cache.hpp"
#include "model/job/operators.hpp"
#include "model/job/overlapped.hpp"
#include "model/job/stream_reads.hpp"
#include "model/job/unseen_reads.hpp"
#include "model/setting/constants.hpp"
#include "model/setting/evidence.hpp"
#include "model/setting/parts.hpp"

namespace stallcast {

namespace {

using namespace setting_parts;  // NOLINT(google-build-using-namespace): the parts of this very module

/// Mark a change of a quantity that was measured at `found`.
void depart(Setting& setting, double to, double found) {
  if (to > found * k_within_measured_factor || to * k_within_measured_factor < found) setting.extrapolated = true;
}

Status apply_loader(const JobModel& job, const Scenario& scenario, Setting& setting, Uncertainty& uncertain) {
  if (scenario.workers) setting.workers = *scenario.workers;
  if (scenario.prefetch) {
    if (setting.workers == 0) {
      return Error{ErrorCode::usage, "this job loads without workers, so a prefetch factor means nothing",
                   "ask for at least one worker as well, for example workers=2"};
    }
    setting.prefetch = *scenario.prefetch;
  }
  if (setting.workers != job.workers) {
    if (setting.workers == 0 || job.workers == 0) {
      uncertain.making += squared(k_with_or_without_workers_sd);
      uncertain.making += squared(k_shared_collate_sd * job.collate_s / std::max(job.cpu_s + job.other_s, 1e-12));
      if (job.workers == 0) {
        const double step_s = std::max(job.device_s + job.step_cpu_s, 1e-12);
        uncertain.step += squared(k_untold_beside_step_sd * job.step_cpu_s / step_s);
      }
      setting.notes.emplace_back(
          job.workers == 0 ? "this run had no workers: what handing batches over costs was not measured"
                           : "without workers the consumer makes each batch itself, perhaps with more threads");
    }
    int least = std::max(1, job.workers);
    int most = least;
    for (const Observation& seen : job.observations) {
      if (!seen.workers || *seen.workers < 1) continue;
      least = std::min(least, *seen.workers);
      most = std::max(most, *seen.workers);
    }
    const int workers = std::max(1, setting.workers);
    const double beyond = std::max({1.0, static_cast<double>(workers) / most, static_cast<double>(least) / workers});
    uncertain.making += squared(k_workers_sd * std::log2(beyond));
    if (beyond > k_within_measured_factor) setting.extrapolated = true;
  }
  return {};
}

/// What no accelerator shortens, where the GPU was traced.
void note_floor(const JobModel& job, Setting& setting) {
  if (!job.kernel_s || setting.speedup <= 1.0) return;
  const double rest = job.compute_s - *job.kernel_s;
  if (!(rest > k_rest_worth_a_note * job.compute_s)) return;
  char text[220];
  std::snprintf(text, sizeof text,
                "kernels take %.0f %% of a step's computing; copies that nothing hides, launches and the main thread "
                "take %.1f ms, which a faster GPU does not shorten: it gains at most %.1fx there",
                100.0 * *job.kernel_s / job.compute_s, 1e3 * rest, job.compute_s / rest);
  setting.notes.emplace_back(text);
}

Status apply_machine(const JobModel& job, const Scenario& scenario, Setting& setting, Uncertainty& uncertain) {
  if (scenario.cpus) {
    setting.cores = *scenario.cpus / (setting.ranks_per_node * setting.jobs);
    uncertain.making += squared(k_cores_sd * doublings(setting.cores, job.cores));
    uncertain.step += squared(0.5 * k_cores_sd * doublings(setting.cores, job.cores));
    depart(setting, setting.cores, job.cores);
  }
  if (scenario.batch) {
    setting.batch = *scenario.batch;
    uncertain.making += squared(k_batch_making_sd * doublings(setting.batch, job.batch));
    uncertain.step += squared(k_batch_step_sd * doublings(setting.batch, job.batch));
    depart(setting, setting.batch, job.batch);
    if (setting.batch != job.batch) {
      setting.notes.emplace_back("the step's own time is taken to grow in proportion to the batch");
    }
  }
  if (scenario.gpu_speedup) {
    setting.speedup = *scenario.gpu_speedup;
    uncertain.step += squared(k_speedup_sd * doublings(setting.speedup, 1.0));
    depart(setting, setting.speedup, 1.0);
    note_floor(job, setting);
  }
  return {};
}

/// Share of the data set that the scenario's cache holds.
double cached_share(const JobModel& job, const Scenario& scenario) {
  if (scenario.cache_fraction) return *scenario.cache_fraction;
  const double bytes = scenario.cache_size ? scenario.cache_size->value() : *job.page_cache_bytes;
  return std::min(1.0, bytes / *job.dataset_bytes);
}

Status apply_cache(const JobModel& job, const Scenario& scenario, Setting& setting, Uncertainty& uncertain) {
  if (!scenario.cache_fraction && !scenario.cache_size && !scenario.cache_policy) return {};
  const double share = cached_share(job, scenario);
  if (job.over_network && scenario.cache_policy == CachePolicy::page_cache) {
    return usage_error("the data come over the network, and Linux' page cache holds none of them",
                       "ask for a cache of the loader's own: cache_policy=minio");
  }
  const auto policy = scenario.cache_policy.value_or(job.over_network ? CachePolicy::minio : CachePolicy::page_cache);
  setting.cached = share;
  setting.policy = policy;
  if (policy == CachePolicy::partitioned || policy == CachePolicy::locality) {
    STALLCAST_RETURN_IF_ERROR(apply_node_caches(job, scenario, share, setting));
  } else if (policy == CachePolicy::minio) {
    setting.miss = setting.miss_least = setting.miss_most = 1.0 - hit_minio(share);
  } else {
    const HitBand band = hit_page_cache_shards(share, setting.nodes);
    setting.miss = 1.0 - band.mean;
    setting.miss_least = 1.0 - band.high;
    setting.miss_most = 1.0 - band.low;
    if (band.high - band.low > k_hits_worth_a_note) {
      setting.notes.emplace_back(
          "the page cache's hit ratio lies between LRU's and random replacement's; steady state");
    }
  }
  uncertain.making += squared(k_cache_sd * (setting.miss - job.miss));
  if (setting.miss > k_within_measured_factor * job.miss && job.attributed) setting.extrapolated = true;
  return {};
}

/// What the scenario says itself of storage.
void take_storage(const JobModel& job, const Scenario& scenario, Setting& setting) {
  if (scenario.storage_bandwidth) {
    setting.demand_s = *job.stored_bytes * readers_of(job, scenario, setting) / scenario.storage_bandwidth->value();
  }
  if (scenario.storage_latency) setting.latency_s = scenario.storage_latency->value();
}

void apply_storage(const JobModel& job, Setting& setting, Uncertainty& uncertain) {
  if ((setting.demand_s || setting.latency_s) && setting.miss_most <= 0.0) {
    setting.notes.emplace_back("everything is read from memory here, so storage does not matter");
  } else if (setting.demand_s || setting.latency_s) {
    const ServiceDemands found = demands(job, as_found(job), {}, {});
    double away = 1.0;
    if (setting.demand_s && found.limit_s > 0.0 && job.miss > 0.0) {
      const double then = found.limit_s / (job.batch * job.miss);
      away = std::max(1.0, doublings(*setting.demand_s, then));
      depart(setting, *setting.demand_s, then);
    } else {
      setting.extrapolated = true;
    }
    uncertain.making += squared(k_storage_sd * away);
  }
}

/// How far a stream's storage is hidden behind preparing while one worker reads alone (there is but one, or the others
/// are in shards that a cache holds) depends on how its shards lie to the device's read-ahead: all of it in one job of
/// tests/bench/predictions (tar), half of it in another (webloader). Where that is known, it is calculated
/// (setting/lone_reader.hpp), and less is in doubt. Where several read, one prepares meanwhile.
///
/// Worked example. A sample takes 2.0 ms of storage and 2.2 ms of its worker: between 2.2 and 4.2 ms.
void doubt_lone_reader(const JobModel& job, const Setting& setting, Uncertainty& uncertain) {
  const bool alone = setting.workers <= 1 && job.workers > 1;
  const bool at_times = setting.cached.has_value() && setting.miss < 1.0;
  if (!job.reads_ahead || !(setting.miss > 0.0) || !(alone || at_times)) return;
  const double storage_s = setting.demand_s.value_or(job.stream_demand_s.value_or(0.0));
  const double own_s = job.cpu_s + job.other_s;
  if (!(storage_s > 0.0) || !(own_s > 0.0)) return;
  const double apart = std::log((storage_s + own_s) / std::max(storage_s, own_s));
  const double unknown = shard_reader(job) ? k_lone_reader_calculated : 1.0;
  uncertain.making += squared(unknown * (alone ? k_lone_reader_sd : k_reader_alone_at_times_sd) * apart);
}

/// Other readers of a storage whose ceiling no probe reached: blocks at one number of workers do not tell a wait that
/// they share from one of each, however well both fit them. Without blocks the parameter itself is as uncertain.
void doubt_unseen_ceiling(const JobModel& job, const Setting& setting, Uncertainty& uncertain) {
  if (setting.workers < 1 || job.workers < 1) return;
  const bool doubtful = !job.attributed && !job.storage_demand_s && !setting.demand_s && job.storage_s;
  if (!doubtful && !job.reads_unseen) return;
  const double seen_s = doubtful ? setting.miss * *job.storage_s : 0.0;
  const double reading_s = job.reads_unseen ? job.other_s : seen_s;  // of maps, what is not computing may all be theirs
  const double whole_s = seen_s + job.cpu_s + job.other_s;
  if (!(whole_s > 0.0)) return;
  const double workers = static_cast<double>(setting.workers) / job.workers;
  uncertain.making += squared(k_unseen_ceiling_sd * reading_s / whole_s * std::log2(workers));
}

bool same_as_found(const JobModel& job, const Setting& setting) {
  return setting.workers == job.workers && setting.prefetch == job.prefetch && setting.batch == job.batch &&
         std::abs(setting.cores - job.cores) <= 1e-9 * job.cores && setting.speedup == 1.0 &&
         setting.miss == job.miss && !setting.demand_s && !setting.latency_s &&
         std::abs(ranks_of(setting) - job.ranks) < 1e-6 && setting.ranks_per_node == job.ranks_per_host &&
         setting.jobs == 1 && setting.uses == 1.0 && setting.saved_cpu_s == 0.0 && setting.saved_other_s == 0.0 &&
         setting.least_demand_s == 0.0 && setting.latency_factor == 1.0 && setting.demand_factor == 1.0 &&
         setting.metadata_s == 0.0 && !setting.staging && setting.remote == 0.0 && setting.shared_s == 0.0 &&
         setting.opening_s == 0.0 && setting.exposed_s == 0.0 && !setting.prep_cores && setting.device_prep_s == 0.0;
}

}  // namespace

Setting as_found(const JobModel& job) {
  Setting setting;
  setting.workers = job.workers;
  setting.prefetch = job.prefetch;
  setting.batch = job.batch;
  setting.cores = job.cores;
  setting.ranks_per_node = job.ranks_per_host;
  setting.nodes = std::max(1, static_cast<int>(std::lround(job.ranks / job.ranks_per_host)));
  setting.miss = setting.miss_least = setting.miss_most = job.miss;
  setting.as_found = true;
  return setting;
}

double ranks_of(const Setting& setting) {
  return setting.nodes * setting.ranks_per_node;
}

Setting setting_of(const JobModel& job, const Observation& seen) {
  Setting setting = as_found(job);
  if (seen.workers) setting.workers = *seen.workers;
  if (seen.prefetch) setting.prefetch = *seen.prefetch;
  if (seen.phase == "cold" || seen.phase == "supply_cold") setting.miss = 1.0;
  if (seen.phase == "cached" || seen.phase == "supply_cached" || seen.phase == "perturb_cpu") setting.miss = 0.0;
  if (seen.cached) setting.miss = 1.0 - *seen.cached;
  setting.miss_least = setting.miss_most = setting.miss;
  setting.added_cpu_s = seen.added_cpu_s * job.disturbance;
  setting.consumes = seen.phase.rfind("supply", 0) != 0;
  setting.loads = seen.phase != "synthetic";
  return setting;
}

Result<Setting> resolve(const JobModel& job, const Scenario& scenario) {
  STALLCAST_RETURN_IF_ERROR(check_overlapped(job, scenario));
  STALLCAST_RETURN_IF_ERROR(check_unseen_reads(job, scenario));
  Setting setting = as_found(job);
  STALLCAST_RETURN_IF_ERROR(check_evidence(job, scenario, setting, false));
  Uncertainty uncertain;
  apply_layout(job, scenario, setting, uncertain);
  STALLCAST_RETURN_IF_ERROR(apply_loader(job, scenario, setting, uncertain));
  STALLCAST_RETURN_IF_ERROR(apply_machine(job, scenario, setting, uncertain));
  STALLCAST_RETURN_IF_ERROR(apply_operators(job, scenario, setting, uncertain));
  STALLCAST_RETURN_IF_ERROR(apply_cache(job, scenario, setting, uncertain));
  take_storage(job, scenario, setting);
  STALLCAST_RETURN_IF_ERROR(check_evidence(job, scenario, setting, true));
  apply_storage(job, setting, uncertain);
  doubt_unseen_ceiling(job, setting, uncertain);
  doubt_lone_reader(job, setting, uncertain);
  STALLCAST_RETURN_IF_ERROR(apply_shared(job, scenario, setting, uncertain));
  STALLCAST_RETURN_IF_ERROR(apply_data(job, scenario, setting, uncertain));
  STALLCAST_RETURN_IF_ERROR(apply_prep_hosts(job, scenario, setting, uncertain));
  setting.as_found = same_as_found(job, setting);
  if (!setting.as_found) {
    uncertain.making += squared(k_any_change_sd) + (job.attributed ? squared(k_attributed_sd) : 0.0);
    uncertain.step += squared(k_step_sd);
    const ServiceDemands in = demands(job, setting, {}, {});
    const double turns_s = changed_turns_s(job, setting, in);
    uncertain.step += squared(k_time_slice_sd * turns_s / std::max(in.device_s + in.step_cpu_s, k_time_slice_s));
  }
  uncertain.store(setting);
  return setting;
}

}  // namespace stallcast
