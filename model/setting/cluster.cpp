/// A scenario's nodes, ranks and jobs, and what they share.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "model/analytic/cluster.hpp"
#include "model/setting/constants.hpp"
#include "model/setting/parts.hpp"

namespace stallcast::setting_parts {
namespace {

double on_a_node(const Setting& setting) {
  return setting.ranks_per_node * setting.jobs;
}

int nodes_found(const JobModel& job) {
  return as_found(job).nodes;
}

/// What reading from storage needs to be known about where it stands; the error names the key that says it.
Status check_storage_scales(const JobModel& job, const Scenario& scenario, Setting& setting) {
  if (setting.nodes <= nodes_found(job) || setting.miss_most <= 0.0 || scenario.storage_bandwidth) return {};
  if (!job.storage_is_shared) {
    setting.notes.push_back("each node is taken to read its own copy of the data from storage like this host's");
    return {};
  }
  return Error{ErrorCode::not_enough_data,
               "the scenario key 'nodes' needs what the data's file system (" + job.filesystem +
                   ") gives all nodes together: one host was profiled",
               "add shared_storage_bandwidth=10GB/s or shared_storage_files_per_s=20k/s, or a cache that holds all"};
}

/// Files opened for a sample, of those as found: a shard is opened once for all of its samples.
double opened_kept(const JobModel& job, const Scenario& scenario) {
  const bool in_shards = scenario.in_shards.value_or(false) && job.sample_bytes;
  return in_shards ? *job.sample_bytes / scenario.shard.value() : 1.0;
}

/// Metadata servers are asked for every file that is opened. The page cache holds bytes, and to open a file whose bytes
/// it holds is to ask them all the same; a cache of the loader's own (minio, partitioned, locality) opens nothing.
void apply_metadata_servers(const JobModel& job, const Scenario& scenario, Setting& setting) {
  if (!scenario.shared_storage_metadata_per_s) return;
  if (scenario.metadata_snapshot.value_or(false)) return;  // nobody asks them
  const double readers = setting.nodes * on_a_node(setting);
  const double opened = *job.opens_per_sample * opened_kept(job, scenario);
  setting.opening_s = readers * opened / scenario.shared_storage_metadata_per_s->value();
  setting.opens_cached = setting.policy == CachePolicy::page_cache;
  char text[160];
  std::snprintf(text, sizeof text, "files opened at the shared storage for a sample: %.3g, %s", opened,
                setting.opens_cached ? "whether its bytes are in memory or not" : "where it is not in the cache");
  setting.notes.emplace_back(text);
}

/// Gunther's universal scalability law over nodes (Guerrilla Capacity Planning, 2007, eq. 4.31): n of them together get
/// n / (1 + contention (n-1) + coherence n (n-1)) times what one gets.
void apply_scalability(const JobModel& job, const Scenario& scenario, Setting& setting) {
  if (!scenario.shared_storage_contention && !scenario.shared_storage_coherence) return;
  // Of a sample at the most that one node gets.
  const double alone_s = scenario.storage_bandwidth ? *job.stored_bytes / scenario.storage_bandwidth->value()
                                                    : *job.storage_demand_s / job.ranks_per_host;
  const double contention = scenario.shared_storage_contention.value_or(0.0);
  const double coherence = scenario.shared_storage_coherence.value_or(0.0);
  const double others = setting.nodes - 1.0;
  const double slower = 1.0 + contention * others + coherence * setting.nodes * others;
  setting.shared_s = std::max(setting.shared_s, on_a_node(setting) * alone_s * slower);
  const double best = coherence > 0.0 ? std::sqrt((1.0 - contention) / coherence) : 0.0;
  if (coherence > 0.0 && setting.nodes > best) {
    char text[120];
    std::snprintf(text, sizeof text,
                  "beyond %.0f nodes the shared storage gives all of them together less, by its coherence",
                  std::max(1.0, best));
    setting.notes.emplace_back(text);
  }
}

Status apply_shared_storage(const JobModel& job, const Scenario& scenario, Setting& setting) {
  const auto& bandwidth = scenario.shared_storage_bandwidth;
  const auto& files = scenario.shared_storage_files_per_s;
  apply_metadata_servers(job, scenario, setting);
  apply_scalability(job, scenario, setting);
  if (!bandwidth && !files && setting.shared_s <= 0.0) return check_storage_scales(job, scenario, setting);
  const double readers = setting.nodes * on_a_node(setting);
  if (bandwidth) {
    setting.shared_s = std::max(setting.shared_s, readers * *job.stored_bytes / bandwidth->value());
  }
  if (files) {
    const double opened = *job.files_per_sample * opened_kept(job, scenario);
    setting.shared_s = std::max(setting.shared_s, readers * opened / files->value());
  }
  setting.notes.push_back(setting.miss_most > 0.0
                              ? "a read is taken to cost its worker what it costs here, up to the shared ceiling"
                              : "everything is read from memory here, so shared storage does not matter");
  return {};
}

double all_reduce_s(int nodes, double bytes, const cluster::Link& link) {
  return std::min(cluster::ring_s(nodes, bytes, link), cluster::tree_s(nodes, bytes, link));
}

double exposed_by(int nodes, const std::vector<double>& buckets, double backward_s, const cluster::Link& link) {
  return cluster::exposed_s(buckets, backward_s, [&](double bucket) { return all_reduce_s(nodes, bucket, link); });
}

/// The bandwidth with which the nodes that were profiled would have left as much of their exchange exposed as was
/// measured; nothing where that says none, or any.
std::optional<double> measured_bandwidth(const JobModel& job, double latency_s) {
  if (nodes_found(job) < 2 || !job.exposed_s || !job.backward_share || !job.gradient_bytes) return std::nullopt;
  const std::vector<double> buckets = cluster::ddp_buckets(*job.gradient_bytes);
  const auto too_fast = [&](double bandwidth) {
    const cluster::Link link{bandwidth, latency_s};
    return exposed_by(nodes_found(job), buckets, *job.backward_share * job.compute_s, link) < *job.exposed_s;
  };
  if (too_fast(k_slowest_network) || !too_fast(k_fastest_network)) return std::nullopt;
  double low = std::log(k_slowest_network);
  double high = std::log(k_fastest_network);
  for (int i = 0; i < 50; ++i) (too_fast(std::exp(0.5 * (low + high))) ? high : low) = 0.5 * (low + high);
  return std::exp(low);
}

/// The run as found holds what its own nodes exchange.
void apply_exchange(const JobModel& job, const Scenario& scenario, Setting& setting, Uncertainty& uncertain) {
  if (setting.nodes <= nodes_found(job)) return;
  const auto bytes = scenario.gradients ? std::optional(scenario.gradients->value()) : job.gradient_bytes;
  cluster::Link link{0.0, scenario.network_latency ? scenario.network_latency->value() : 0.0};
  if (scenario.network_bandwidth) {
    link.bandwidth = scenario.network_bandwidth->value();
  } else if (const auto measured = measured_bandwidth(job, link.latency_s)) {
    link.bandwidth = *measured;
    char text[160];
    std::snprintf(text, sizeof text, "the network gives %.3g MB/s, which is what exchanging gradients took as profiled",
                  *measured / 1e6);
    setting.notes.emplace_back(text);
  }
  if (!bytes || link.bandwidth <= 0.0) {
    setting.notes.push_back(
        std::string("exchanging gradients between nodes is left out, so this is an upper bound: add ") +
        (bytes ? "" : "gradients=100MB ") + (scenario.network_bandwidth ? "" : "network_bandwidth=25Gbit/s"));
    return;
  }
  const double step_s = (job.device_s + job.step_cpu_s) * setting.batch / job.batch / setting.speedup;
  const std::vector<double> buckets = cluster::ddp_buckets(*bytes);
  const double backward_s = job.backward_share.value_or(k_backward_share) * step_s;
  setting.exposed_s = std::max(0.0, exposed_by(setting.nodes, buckets, backward_s, link) -
                                        exposed_by(nodes_found(job), buckets, backward_s, link));
  uncertain.step += squared(k_closed_form_sd * setting.exposed_s / (step_s + setting.exposed_s));
}

/// Independent jitter of the step adds up over ranks that wait for each other; that of loading, prefetching evens out.
void apply_straggling(const JobModel& job, Setting& setting, Uncertainty& uncertain) {
  const double ranks = ranks_of(setting);
  if (ranks <= job.ranks) return;
  setting.straggling = job.cv_step * (cluster::expected_largest(ranks) - cluster::expected_largest(job.ranks));
  uncertain.step += squared(k_closed_form_sd * setting.straggling);
}

}  // namespace

void apply_layout(const JobModel& job, const Scenario& scenario, Setting& setting, Uncertainty& uncertain) {
  if (scenario.nodes) setting.nodes = *scenario.nodes;
  if (scenario.gpus_per_node) setting.ranks_per_node = *scenario.gpus_per_node;
  setting.jobs = scenario.jobs.value_or(1);
  setting.echoes = scenario.echo.value_or(1.0);
  setting.uses = setting.echoes * (scenario.coordinated_prep.value_or(false) ? setting.jobs : 1);
  const double sharing = on_a_node(setting) / job.ranks_per_host;
  setting.cores = job.cores / sharing;
  const double ranks = ranks_of(setting);
  uncertain.step += squared(k_ranks_sd * doublings(ranks, job.ranks));
  uncertain.making +=
      squared(k_shared_cores_sd * doublings(sharing, 1.0)) + squared(k_ranks_sd * std::log2(setting.uses));
  if (ranks > k_within_measured_factor * job.ranks || sharing > k_within_measured_factor ||
      setting.uses > k_within_measured_factor)
    setting.extrapolated = true;
  if (ranks != job.ranks) {
    setting.notes.push_back(
        "each rank keeps its batch, so the global batch changes with the ranks; they wait for each "
        "other in each step");
  }
  if (setting.jobs > 1) {
    setting.notes.push_back(
        setting.uses > setting.echoes
            ? "the rate is that of one of the jobs; all train on the same batches, prepared once"
            : "the rate is that of one of the jobs; each has a share of the cores and of the cache's hits "
              "as one alone would");
  }
  if (setting.echoes > 1.0) {
    setting.notes.push_back("samples count each time they are trained on, and repeated ones teach less");
  }
}

Status apply_node_caches(const JobModel& job, const Scenario& scenario, double share, Setting& setting) {
  const bool by_place = scenario.cache_policy == CachePolicy::locality;
  const auto from = by_place ? cluster::locality(share, setting.nodes, ranks_of(setting), setting.batch)
                             : cluster::partitioned(share, setting.nodes);
  setting.miss = setting.miss_least = setting.miss_most = from.storage;
  setting.remote = from.remote;
  if (from.remote <= 0.0) return {};
  if (!scenario.network_bandwidth) {
    return Error{ErrorCode::usage, "a cache over several nodes needs the network between them",
                 "add network_bandwidth=25Gbit/s, which is each node's"};
  }
  const double send_s = *job.sample_bytes / scenario.network_bandwidth->value();
  const double latency_s = scenario.network_latency ? scenario.network_latency->value() : 0.0;
  setting.remote_s = 2.0 * latency_s + send_s;
  setting.remote_share_s = on_a_node(setting) * send_s;
  return {};
}

Status apply_prep_hosts(const JobModel& job, const Scenario& scenario, Setting& setting, Uncertainty& uncertain) {
  if (!scenario.prep_cpus) return {};
  if (!scenario.network_bandwidth) {
    return Error{ErrorCode::usage, "hosts that prepare need the network over which batches come",
                 "add network_bandwidth=25Gbit/s, which is each node's"};
  }
  setting.prep_cores = *scenario.prep_cpus / (ranks_of(setting) * setting.jobs);
  setting.carried_s = on_a_node(setting) * *job.prepared_bytes / scenario.network_bandwidth->value();
  setting.workers = std::max(1, setting.workers);  // something must take over while the step goes on
  setting.extrapolated = true;
  uncertain.making += squared(k_prep_hosts_sd);
  char text[240];
  std::snprintf(
      text, sizeof text,
      "the network carries %.3g KB for each prepared sample; what taking them over costs the hosts that train is "
      "left out, and the hosts that prepare are taken to read as fast as these and to run as many workers as "
      "their cores are worth",
      *job.prepared_bytes / 1e3);
  setting.notes.emplace_back(text);
  return {};
}

Status apply_shared(const JobModel& job, const Scenario& scenario, Setting& setting, Uncertainty& uncertain) {
  STALLCAST_RETURN_IF_ERROR(apply_shared_storage(job, scenario, setting));
  apply_exchange(job, scenario, setting, uncertain);
  apply_straggling(job, setting, uncertain);
  return {};
}

}  // namespace stallcast::setting_parts
