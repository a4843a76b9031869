#include "model/predict/cluster_simulation.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "model/analytic/cache.hpp"
#include "model/analytic/cluster.hpp"
#include "model/predict/constants.hpp"
#include "model/scenario/formatted.hpp"

namespace stallcast {
namespace {

constexpr int k_most_simulated_nodes = 65534;
constexpr double k_most_items_per_batch = 65535.0;
constexpr double k_most_items = 4e9;  ///< that 32 bits can number

/// What of a scenario the simulation knows nothing about.
Status check_known(const JobModel& job, const Setting& setting, const SimulationAsk& ask) {
  const char* leave_out = "leave out --simulate, or the key";
  if (setting.jobs > 1 || setting.uses != 1.0) {
    return usage_error("--simulate plays one job that trains once on each batch: no jobs, coordinated_prep or echo",
                       leave_out);
  }
  if (setting.staging || setting.latency_factor != 1.0 || setting.demand_factor != 1.0) {
    return usage_error("--simulate reads single samples from where they are: no staging, and no layout=shards",
                       leave_out);
  }
  if (setting.prep_cores) {
    return usage_error("--simulate plays workers on the hosts that train: no prep_cpus", leave_out);
  }
  if (job.overlapped) {
    return usage_error("--simulate plays workers that make one batch after another, and this job's loader (" +
                           job.loader_kind + ") fetches and prepares side by side",
                       "leave out --simulate");
  }
  if (!job.in_order && setting.workers > 0) {
    return usage_error("--simulate delivers batches in order, and this job takes them as they come (in_order=False)",
                       "leave out --simulate");
  }
  if (std::abs(setting.ranks_per_node - std::round(setting.ranks_per_node)) > 1e-6) {
    return usage_error("--simulate needs as many ranks on each node, and the run had " +
                           formatted("%.3g", setting.ranks_per_node) + " on average",
                       "add gpus_per_node=8");
  }
  if (ask.lose_node && !setting.cached) {
    return usage_error("--lose-node needs a cache whose content can be lost", "add for example cache=35%");
  }
  if (ask.lose_node && ask.epochs < 2) {
    return usage_error("--lose-node needs an epoch before the one in which a node is lost", "write --simulate=3");
  }
  if (!job.dataset_samples) {
    return Error{ErrorCode::not_enough_data,
                 "--simulate plays whole epochs, and the number of samples of the data set is not known",
                 "a profile of a job whose data set tells its length"};
  }
  return {};
}

/// Caches begin empty, so the first epoch reads all from storage, even where the closed form's steady state does not.
Status check_first_epoch(const JobModel& job, const Scenario& scenario, const Setting& setting) {
  if (!setting.cached) return {};
  const std::string what = "--simulate begins with empty caches, and ";
  if (!job.storage_s && !(setting.demand_s && setting.latency_s)) {
    std::string hint = "a profile of a run whose files are not in memory (cold)";
    for (const MissingInput& missing : job.missing) {
      if (missing.input == Input::storage_cost) hint = "needed: " + missing.unlocked_by;
    }
    return Error{ErrorCode::not_enough_data, what + "what reading from storage costs was not measured", hint};
  }
  const bool ceiling = setting.shared_s > 0.0;
  if (setting.nodes > as_found(job).nodes && job.storage_is_shared && !ceiling && !scenario.storage_bandwidth) {
    return Error{ErrorCode::not_enough_data,
                 what + "what the data's file system (" + job.filesystem +
                     ") gives all nodes together was not measured: one host was profiled",
                 "add shared_storage_bandwidth=10GB/s or shared_storage_files_per_s=20k/s"};
  }
  return {};
}

simulation::Caching caching(CachePolicy policy) {
  switch (policy) {
    case CachePolicy::minio:
      return simulation::Caching::minio;
    case CachePolicy::partitioned:
      return simulation::Caching::partitioned;
    case CachePolicy::locality:
      return simulation::Caching::locality;
    case CachePolicy::page_cache:
      break;
  }
  return simulation::Caching::page_cache;
}

/// Items and caches: single samples where that can be afforded, groups otherwise. Locality depends on the number of
/// samples that change places, so there each is one.
void set_caches(const Setting& setting, double samples, int epochs, simulation::Cluster& cluster) {
  if (!setting.cached) return;
  cluster.caches.policy = caching(setting.policy);
  double group = 1.0;
  if (setting.policy != CachePolicy::locality)
    group = std::max(1.0, std::ceil(samples * epochs / k_many_simulated_reads));
  const double per_batch = std::clamp(std::floor(setting.batch / group), 1.0, k_most_items_per_batch);
  cluster.order.samples_per_item = setting.batch / per_batch;
  cluster.order.items_per_batch = static_cast<std::uint32_t>(per_batch);
  const double items = std::max(1.0, std::round(samples / cluster.order.samples_per_item));
  cluster.order.items = static_cast<std::uint32_t>(std::min(items, k_most_items));
  cluster.caches.room = static_cast<std::uint32_t>(std::lround(*setting.cached * cluster.order.items));
  if (setting.policy != CachePolicy::page_cache) return;
  const HitBand band = hit_page_cache_shards(*setting.cached, setting.nodes);
  cluster.caches.random_share = band.high > band.low ? (band.mean - band.low) / (band.high - band.low) : 0.5;
}

void set_storage(const Setting& setting, const ServiceDemands& all_missed, double limit_factor,
                 simulation::Cluster& cluster) {
  cluster.storage_share = setting.miss;
  cluster.node_storage_s = limit_factor * all_missed.limit_s / setting.batch / setting.ranks_per_node;
  const double readers = ranks_of(setting) * setting.jobs;
  cluster.shared_s = setting.shared_s / readers;
  cluster.open_s = setting.opening_s / readers;
  cluster.opens_cached = setting.opens_cached;
  cluster.remote_s = setting.remote_s;
  cluster.link_s = setting.remote_share_s / setting.ranks_per_node;
}

/// Seconds from delivery to delivery of one rank that makes `work` times `factor`, `miss` of it from storage.
double alone_s(const simulation::Cluster& cluster, double miss, double remote_s, double factor) {
  std::vector<simulation::BatchWork> work(cluster.work);
  std::vector<simulation::StepWork> steps(work.size());
  for (std::size_t i = 0; i < work.size(); ++i) {
    const simulation::BatchWork& batch = cluster.work[i];
    work[i] = {factor * miss * batch.read_s + remote_s, factor * batch.cpu_s, factor * batch.other_s};
    steps[i].device_s = cluster.step_s[i];
  }
  const auto run = simulation::run_loader(cluster.loader, work, steps);
  const std::size_t first = work.size() / 10;
  const std::size_t last = work.size() - 1;
  return (run.delivered_s[last] - run.delivered_s[first]) / static_cast<double>(last - first);
}

/// How much longer all that workers do takes for whom they meet at cores and storage, which the recursion says better
/// than a mean.
struct Stretch {
  double factor = 1.0;
  double off = 0.0;  ///< what one rank alone then differs from the recursion by, relative; 0 where it is near enough
};

/// The factor with which one rank alone takes `wanted_s` a step.
Stretch stretch(const simulation::Cluster& cluster, double miss, double remote_s, double wanted_s) {
  double low = 0.5;
  double high = 2.0;
  Stretch found;
  for (int i = 0; i < 16; ++i) {
    found.off = alone_s(cluster, miss, remote_s, found.factor) / wanted_s - 1.0;
    if (std::abs(found.off) <= k_lone_rank_fits) return {found.factor, 0.0};
    (found.off > 0.0 ? high : low) = found.factor;
    found.factor = std::sqrt(low * high);
  }
  return found;
}

/// Cores and a rank's storage are shared as in the closed form: everybody is slowed as much as on average. Returns
/// MappedCluster::one_rank_off.
double set_times(const JobModel& job, const Setting& setting, const ServiceDemands& usual,
                 const ServiceDemands& all_missed, StallCurves& curves, const Recursion& recursion,
                 simulation::Cluster& cluster) {
  const StepTimes crowded = evaluate(usual, curves);
  const double receiving_s = recursion.receiving_s(usual, setting.batch);
  const double own_s = crowded.own_s - (usual.workers > 0 ? usual.receive_s : 0.0);
  const bool reads = setting.miss > 0.0 && usual.disk_s > 0.0;
  const double disk_s = reads ? crowded.disk_wait_s / setting.miss : all_missed.disk_s;
  for (const double factor : recursion.step_factors()) cluster.step_s.push_back(factor * own_s + receiving_s);
  for (const double factor : recursion.making_factors(setting.batch)) {
    cluster.work.push_back({.read_s = factor * (all_missed.latency_s + disk_s),
                            .cpu_s = factor * usual.cpu_s * crowded.core_slow,
                            .other_s = factor * usual.other_s});
  }
  ServiceDemands unlimited = usual;  // ceilings are the simulation's own
  unlimited.limit_s = unlimited.beyond_s = 0.0;
  const double wanted_s = recursion.play(unlimited, setting.batch).step_s;
  const double remote_s = setting.batch * setting.remote * setting.remote_s;
  const auto [factor, off] = stretch(cluster, setting.miss, remote_s, wanted_s);
  for (simulation::BatchWork& work : cluster.work) {
    work = {factor * work.read_s, factor * work.cpu_s, factor * work.other_s};
  }
  // Steps as found already end with the slowest of the ranks as found.
  const double slowest_found = 1.0 + job.cv_step * cluster::expected_largest(job.ranks);
  for (double& step : cluster.step_s) step = receiving_s + (step - receiving_s) / slowest_found;
  return off;
}

Status check_size(const simulation::Cluster& cluster, double samples) {
  const double ranks = static_cast<double>(cluster.nodes) * cluster.ranks_per_node;
  const double rank_steps = ranks * static_cast<double>(cluster.steps) * cluster.epochs;
  if (rank_steps > k_most_rank_steps) {
    return usage_error("--simulate would play " + formatted("%.3g", rank_steps) + " batches, and the most is " +
                           formatted("%.3g", k_most_rank_steps),
                       "simulate fewer epochs, for example --simulate=2");
  }
  if (cluster.nodes > k_most_simulated_nodes) {
    return usage_error("--simulate plays at most " + std::to_string(k_most_simulated_nodes) + " nodes",
                       "simulate fewer nodes");
  }
  if (cluster.caches.policy == simulation::Caching::locality && cluster.order.samples_per_item > 1.0) {
    return usage_error("--simulate deals out samples by place for batches of at most " +
                           formatted("%.0f", k_most_items_per_batch) + " samples",
                       "simulate a smaller batch");
  }
  const bool too_many = samples / cluster.order.samples_per_item > k_most_items;
  const double bytes = simulation::memory_bytes(cluster);
  if (bytes > k_most_simulation_bytes || too_many) {
    return usage_error("--simulate would need " + formatted("%.3g", bytes / 1e9) + " GB of memory for " +
                           formatted("%.3g", samples) + " samples on " + std::to_string(cluster.nodes) +
                           " nodes, and the most is " + formatted("%.3g", k_most_simulation_bytes / 1e9) + " GB",
                       "simulate fewer epochs, or a smaller cache");
  }
  return {};
}

/// The name of what binds, as the closed form names it.
std::string bound_of(const simulation::Cluster& cluster, const simulation::EpochRun& epoch) {
  using simulation::Resource;
  switch (epoch.binding) {
    case Resource::step:
      return "gpu";
    case Resource::exchange:
    case Resource::network:
      return "network";
    case Resource::node_storage:
    case Resource::shared_storage:
    case Resource::shared_metadata:
      return "fetch";
    case Resource::workers:
      break;
  }
  double reading = 0.0;
  double computing = 0.0;
  for (const simulation::BatchWork& work : cluster.work) {
    reading += work.read_s * epoch.from.storage;
    computing += work.cpu_s + work.other_s;
  }
  reading +=
      static_cast<double>(cluster.work.size()) * epoch.from.remote * cluster.remote_s * cluster.samples_per_batch;
  return reading > computing ? "fetch" : "prep";
}

SimulatedEpoch describe(const simulation::Cluster& cluster, const simulation::EpochRun& run, double receiving_s) {
  SimulatedEpoch epoch;
  epoch.duration = Seconds(run.duration_s);
  epoch.step_mean = Seconds(run.steps.mean_s);
  epoch.step_p50 = Seconds(run.steps.p50_s);
  epoch.step_p99 = Seconds(run.steps.p99_s);
  const double receiving = receiving_s * static_cast<double>(cluster.steps) / run.duration_s;
  epoch.waiting = std::clamp(run.waiting_frac + receiving, 0.0, 1.0);
  epoch.straggling = run.straggling_frac;
  epoch.local = run.from.local;
  epoch.remote = run.from.remote;
  epoch.storage = run.from.storage;
  epoch.bound = bound_of(cluster, run);
  return epoch;
}

void add_loads(const simulation::EpochRun& run, SimulatedCluster& out) {
  constexpr const char* k_names[] = {"gpu",     "exchange",       "workers", "node_storage", "shared_storage",
                                     "network", "shared_metadata"};
  for (std::size_t i = 0; i < run.busy.size(); ++i) {
    if (run.busy[i] > 0.0) out.loads.push_back({k_names[i], run.busy[i]});
  }
  std::stable_sort(out.loads.begin(), out.loads.end(),
                   [](const SimulatedLoad& a, const SimulatedLoad& b) { return a.busy > b.busy; });
}

std::string percent(double fraction) {
  return formatted("%.1f", 100.0 * fraction) + " %";
}

/// What was simulated in which way, and where the closed form has it differently.
void add_notes(const simulation::Cluster& cluster, const Setting& setting, SimulatedCluster& out) {
  const SimulatedEpoch& judged = out.epochs[out.judged];
  if (!setting.cached) {
    out.notes.emplace_back("no cache is set: in every epoch as much comes from storage as in the profiled run");
  } else if (setting.policy == CachePolicy::page_cache) {
    out.notes.emplace_back("the page cache is simulated as LRU for some samples and random replacement for the others");
  }
  if (cluster.order.samples_per_item > 1.0 && setting.cached) {
    out.notes.emplace_back("caches hold groups of " + formatted("%.3g", cluster.order.samples_per_item) +
                           " samples, to save time and memory");
  }
  if (out.lost_node) {
    out.notes.emplace_back(
        "one node loses its cache when the last epoch begins, and goes on with an empty one; the rate is that of the "
        "epoch before");
  }
  if (setting.cached && std::abs(judged.storage - setting.miss) > k_storage_shares_differ) {
    out.notes.push_back(percent(judged.storage) + " of the samples come from storage in epoch " +
                        std::to_string(out.judged + 1) + ", and " + percent(setting.miss) +
                        " in the closed form, whose caches are warm");
  }
  if (judged.straggling > k_straggling_matters) {
    const bool loading = judged.bound == "prep" || judged.bound == "fetch";
    out.notes.emplace_back("ranks wait for the slowest for " + percent(judged.straggling) + " of the time" +
                           (loading
                                ? "; the closed form assumes that prefetching evens out how loading varies, and where "
                                  "loading is the limit it does not"
                                : ""));
  }
}

}  // namespace

Result<MappedCluster> cluster_of(const JobModel& job, const Scenario& scenario, const Setting& setting,
                                 const Parameters& parameters, StallCurves& curves, const Recursion& recursion,
                                 const SimulationAsk& ask) {
  STALLCAST_RETURN_IF_ERROR(check_known(job, setting, ask));
  STALLCAST_RETURN_IF_ERROR(check_first_epoch(job, scenario, setting));
  Setting usual = setting;  // what the simulation finds by itself is taken out
  usual.straggling = usual.exposed_s = 0.0;
  Setting all_missed = usual;
  all_missed.miss = all_missed.miss_least = all_missed.miss_most = 1.0;
  all_missed.remote = 0.0;
  const ServiceDemands usually = demands(job, usual, parameters, {});
  const ServiceDemands at_worst = demands(job, all_missed, parameters, {});

  simulation::Cluster cluster;
  cluster.nodes = setting.nodes;
  cluster.ranks_per_node = static_cast<int>(std::lround(setting.ranks_per_node));
  cluster.loader = {setting.workers, setting.prefetch, true};
  cluster.epochs = ask.epochs;
  cluster.seed = ask.seed;
  cluster.samples_per_batch = setting.batch;
  cluster.exchange_s = setting.exposed_s;
  const double samples = *job.dataset_samples;
  const double of_a_step = setting.batch * cluster.nodes * cluster.ranks_per_node;
  cluster.steps = static_cast<std::uint64_t>(std::max(1.0, std::ceil(samples / of_a_step)));
  set_caches(setting, samples, ask.epochs, cluster);
  set_storage(setting, at_worst, recursion.limit_factor(at_worst), cluster);
  if (ask.lose_node) cluster.losses.push_back({ask.epochs - 1, 0, 0, 0.0});
  STALLCAST_RETURN_IF_ERROR(check_size(cluster, samples));
  const double off = set_times(job, setting, usually, at_worst, curves, recursion, cluster);
  return MappedCluster{std::move(cluster), off};
}

SimulatedCluster simulate_cluster(const MappedCluster& mapped, const Setting& setting, double receiving_s,
                                  const Prediction& closed) {
  const simulation::Cluster& cluster = mapped.cluster;
  const simulation::ClusterRun run = simulation::run_cluster(cluster);
  SimulatedCluster out;
  out.nodes = cluster.nodes;
  out.ranks = cluster.nodes * cluster.ranks_per_node;
  out.steps = static_cast<std::int64_t>(cluster.steps);
  out.seed = cluster.seed;
  for (const simulation::EpochRun& epoch : run.epochs) out.epochs.push_back(describe(cluster, epoch, receiving_s));
  out.lost_node = !cluster.losses.empty();
  out.judged = out.epochs.size() - (out.lost_node ? 2 : 1);
  out.throughput = SamplesPerSecond(cluster.samples_per_batch * out.ranks / run.epochs[out.judged].steps.mean_s);
  out.within_interval = out.throughput >= closed.throughput.ci90_low && out.throughput <= closed.throughput.ci90_high;
  out.least_waiting = 1.0;
  for (const simulation::NodeRun& node : run.nodes) {
    out.least_waiting = std::min(out.least_waiting, node.waiting_frac);
    out.most_waiting = std::max(out.most_waiting, node.waiting_frac);
    out.most_last = std::max(out.most_last, node.last_frac);
  }
  add_loads(run.epochs.back(), out);
  add_notes(cluster, setting, out);
  if (mapped.one_rank_off != 0.0) {
    out.notes.emplace_back(
        "one rank alone takes " + percent(std::abs(mapped.one_rank_off)) +
        (mapped.one_rank_off > 0.0 ? " longer" : " less") +
        " here than by the recursion that answers single scenarios: its workers meet in a way that no "
        "mean stands for");
  }
  return out;
}

}  // namespace stallcast
