#include "model/validate/applied.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "model/scenario/formatted.hpp"
#include "model/validate/constants.hpp"

namespace stallcast {
namespace {

/// A key that no run can be given, or not by this version.
struct Refusal {
  std::string_view key{};
  const char* why = "";
  const char* instead = "";
};

constexpr std::array<Refusal, 9> k_refused{{
    {"batch", "another batch is another training, which verify must not make of a command",
     "change the batch in the script, profile that and compare: stallcast diff"},
    {"gpu_speedup", "no faster accelerator can be made here",
     "profile on the other accelerator and compare: stallcast diff"},
    {"storage_latency", "it is a sample's, while a run can be given only one of each read",
     "profile with it and compare: stallcast profile --emulate storage_latency=..., stallcast diff"},
    {"layout", "the files lie as they lie, and another layout is another data set",
     "write the shards, profile the job that reads them and compare: stallcast diff"},
    {"metadata", "opens and stats are the job's own, and go where its files are",
     "use a snapshot in the job, profile that and compare: stallcast diff"},
    {"staging", "the files lie where they lie", "stage them, profile that and compare: stallcast diff"},
    {"local_disk_bandwidth", "it is a matter of staging, which a run cannot be given",
     "stage the files, profile that and compare: stallcast diff"},
    {"local_disk", "it is a matter of staging, which a run cannot be given",
     "stage the files, profile that and compare: stallcast diff"},
    {"operator", "what the data set does to its samples is the script's own",
     "change it in the script, profile that and compare: stallcast diff"},
}};

Status check_keys(const Scenario& scenario) {
  for (const ScenarioItem& item : scenario.items) {
    if (asks_beyond_machine(item.key)) {
      return usage_error(
          "the scenario key '" + item.key + "' cannot be verified: this command runs as one job on this machine",
          "profile there and compare: stallcast diff");
    }
    const auto* refused =
        std::find_if(k_refused.begin(), k_refused.end(), [&](const Refusal& r) { return r.key == item.key; });
    if (refused == k_refused.end()) continue;
    return usage_error("the scenario key '" + item.key + "' cannot be verified: " + refused->why, refused->instead);
  }
  return {};
}

std::string in_place_of(const Measured<std::int64_t>& found) {
  return found ? " in place of " + std::to_string(*found) : std::string();
}

/// Only PyTorch's loader is made where we can reach it.
Status check_loader(const Profile& profile, const std::string& key) {
  const bool is_torch = profile.job.framework == "pytorch";
  if (is_torch && (profile.job.loader_kind == "map" || profile.job.loader_kind == "iterable")) return {};
  return usage_error(
      "the scenario key '" + key + "' cannot be verified: the profiled job loads without PyTorch's DataLoader",
      "change the loader in the job itself, profile that and compare: stallcast diff");
}

Status apply_workers(const Scenario& scenario, const Profile& profile, AppliedSettings& out) {
  STALLCAST_RETURN_IF_ERROR(check_loader(profile, "workers"));
  out.workers = scenario.workers;
  out.keys.push_back({"workers", std::to_string(*scenario.workers),
                      "num_workers=" + std::to_string(*scenario.workers) + in_place_of(profile.job.num_workers) +
                          ", set on the training DataLoader when it is made"});
  return {};
}

Status apply_prefetch(const Scenario& scenario, const Profile& profile, AppliedSettings& out) {
  STALLCAST_RETURN_IF_ERROR(check_loader(profile, "prefetch"));
  if (scenario.workers.value_or(static_cast<int>(profile.job.num_workers.value_or(0))) == 0) {
    return usage_error("this job loads without workers, so a prefetch factor means nothing",
                       "ask for at least one worker as well, for example workers=2");
  }
  out.prefetch = scenario.prefetch;
  out.keys.push_back({"prefetch", std::to_string(*scenario.prefetch),
                      "prefetch_factor=" + std::to_string(*scenario.prefetch) +
                          in_place_of(profile.job.prefetch_factor) +
                          ", set on the training DataLoader when it is made"});
  return {};
}

Status apply_cpus(const Scenario& scenario, double usable_cpus, AppliedSettings& out) {
  const double cpus = *scenario.cpus;
  const bool whole = cpus == std::floor(cpus);
  if (!whole && !out.by_kernel) {
    return usage_error(
        "cpus=" + formatted("%g", cpus) + " cannot be verified: affinity gives whole CPUs, a part of one takes a quota",
        "ask for a whole number of CPUs, or for a quota, as root: --emulate-with kernel");
  }
  if (cpus > usable_cpus) {
    return usage_error("cpus=" + formatted("%g", cpus) + " cannot be verified: " + formatted("%g", usable_cpus) +
                           " may be used on this machine",
                       "ask for fewer, or verify on a machine that has as many");
  }
  if (!whole) {
    out.cpu_quota = cpus;
    out.emulated.push_back("cpus=" + formatted("%g", cpus));
    out.keys.push_back(
        {"cpus", formatted("%g", cpus), "a quota of " + formatted("%g", cpus) + " CPUs, by control group"});
    return {};
  }
  out.cpus = static_cast<int>(cpus);
  out.keys.push_back({"cpus", formatted("%g", cpus),
                      "the first " + formatted("%g", cpus) + " of the " + formatted("%g", usable_cpus) +
                          " CPUs that may be used here, by affinity"});
  return {};
}

const ScenarioItem* item_of(const Scenario& scenario, std::string_view key) {
  const auto found = std::find_if(scenario.items.begin(), scenario.items.end(),
                                  [&](const ScenarioItem& item) { return item.key == key; });
  return found == scenario.items.end() ? nullptr : &*found;
}

/// A cache is emulated in front of emulated storage only, and only a policy that has an exact model.
Status check_cache(const Scenario& scenario, bool by_kernel) {
  const ScenarioItem* cache = item_of(scenario, "cache");
  const ScenarioItem* item = cache != nullptr ? cache : item_of(scenario, "cache_policy");
  if (item == nullptr) return {};
  if (by_kernel) {
    return usage_error(item->key + " cannot be verified with the kernel's limits: it emulates no cache",
                       "leave --emulate-with kernel out, with cache_policy=minio");
  }
  if (!scenario.storage_bandwidth && !scenario.storage_iops) {
    return usage_error(
        item->key + " cannot be verified alone: how fast a miss is served by the real storage is not known",
        "say what storage a miss goes to, for example storage_bandwidth=200MB/s");
  }
  if (cache == nullptr) return usage_error("cache_policy means nothing without a cache", "add its size: cache=35%");
  if (scenario.cache_policy == CachePolicy::minio) return {};
  return usage_error("cache cannot be verified with Linux' own policy, which has no exact model",
                     "ask for cache_policy=minio as well");
}

/// Without a cache every byte comes from the emulated storage: the profiled run must have read its bytes there, too.
Status check_all_from_storage(const Scenario& scenario, const Profile& profile) {
  const auto& share = profile.resources.bytes_from_storage;
  if (item_of(scenario, "cache") || (share && *share >= k_all_from_storage)) return {};
  const std::string found = share
                                ? "read " + formatted("%g", std::round(100.0 * *share)) + " % of its bytes from storage"
                                : "does not show how much came from storage (" + share.reason() + ")";
  const std::string key = scenario.storage_bandwidth ? "storage_bandwidth" : "storage_iops";
  return usage_error(
      key + " cannot be verified: the profiled run " + found + ", emulated storage without a cache serves them all",
      "add a cache, for example cache=35% cache_policy=minio, or profile with the data evicted");
}

Status apply_storage(const Scenario& scenario, const Profile& profile, AppliedSettings& out) {
  STALLCAST_RETURN_IF_ERROR(check_cache(scenario, out.by_kernel));
  if (!scenario.storage_bandwidth && !scenario.storage_iops) return {};
  STALLCAST_RETURN_IF_ERROR(check_all_from_storage(scenario, profile));
  for (const char* key : {"storage_bandwidth", "storage_iops", "cache", "cache_policy"}) {
    const ScenarioItem* item = item_of(scenario, key);
    if (item == nullptr) continue;
    out.emulated.push_back(item->key + "=" + item->value);
    out.keys.push_back({item->key, item->value,
                        out.by_kernel ? "a limit of the kernel on reads of each local disk, by control group"
                                      : "emulated inside the job's processes"});
  }
  return {};
}

}  // namespace

Result<AppliedSettings> applied_settings(const Scenario& scenario, const Profile& profile, double usable_cpus,
                                         bool by_kernel) {
  STALLCAST_RETURN_IF_ERROR(check_keys(scenario));
  AppliedSettings out;
  out.by_kernel = by_kernel;
  if (scenario.workers) STALLCAST_RETURN_IF_ERROR(apply_workers(scenario, profile, out));
  if (scenario.prefetch) STALLCAST_RETURN_IF_ERROR(apply_prefetch(scenario, profile, out));
  if (scenario.cpus) STALLCAST_RETURN_IF_ERROR(apply_cpus(scenario, usable_cpus, out));
  STALLCAST_RETURN_IF_ERROR(apply_storage(scenario, profile, out));
  return out;
}

}  // namespace stallcast
