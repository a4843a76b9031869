/// A scenario's nodes, ranks and jobs, and what they share.
#include <algorithm>
#include <cmath>

#include "model/cluster.hpp"
#include "model/setting_parts.hpp"

namespace stallcast::setting_parts {
namespace {

constexpr double k_scale_sd = 0.02;        ///< per doubling of ranks
constexpr double k_share_cores_sd = 0.03;  ///< per doubling of those who share a host
constexpr double k_formula_sd = 0.3;       ///< of what a closed form adds to a step
constexpr double k_backward = 2.0 / 3.0;   ///< of a step's computing

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

Status apply_shared_storage(const JobModel& job, const Scenario& scenario, Setting& setting) {
  const auto& bandwidth = scenario.shared_storage_bandwidth;
  const auto& files = scenario.shared_storage_files_per_s;
  if (!bandwidth && !files) return check_storage_scales(job, scenario, setting);
  if (bandwidth && !job.sample_bytes) return unmeasured(job, "shared_storage_bandwidth", "bytes read per sample");
  if (files && !job.files_per_sample) return unmeasured(job, "shared_storage_files_per_s", "files read per sample");
  const double readers = setting.nodes * on_a_node(setting);
  if (bandwidth) setting.shared_s = readers * *job.stored_bytes / bandwidth->value();
  if (files) {
    const bool in_shards = scenario.in_shards.value_or(false) && job.sample_bytes;
    const double opened = in_shards ? *job.sample_bytes / scenario.shard.value() : *job.files_per_sample;
    setting.shared_s = std::max(setting.shared_s, readers * opened / files->value());
  }
  setting.notes.push_back(setting.miss_most > 0.0
                              ? "a read is taken to cost its worker what it costs here, up to the shared ceiling"
                              : "everything is read from memory here, so shared storage does not matter");
  return {};
}

double all_reduce_s(int nodes, double bytes, const Scenario& scenario) {
  const cluster::Link link{scenario.network_bandwidth->value(),
                           scenario.network_latency ? scenario.network_latency->value() : 0.0};
  return std::min(cluster::ring_s(nodes, bytes, link), cluster::tree_s(nodes, bytes, link));
}

/// The run as found holds what its own nodes exchange.
void apply_exchange(const JobModel& job, const Scenario& scenario, Setting& setting, Uncertainty& uncertain) {
  if (setting.nodes <= nodes_found(job)) return;
  const auto bytes = scenario.gradients ? std::optional(scenario.gradients->value()) : job.gradient_bytes;
  if (!bytes || !scenario.network_bandwidth) {
    setting.notes.push_back(
        std::string("exchanging gradients between nodes is left out, so this is an upper bound: add ") +
        (bytes ? "" : "gradients=100MB ") + (scenario.network_bandwidth ? "" : "network_bandwidth=25Gbit/s"));
    return;
  }
  const double step_s = (job.device_s + job.step_cpu_s) * setting.batch / job.batch / setting.speedup;
  const std::vector<double> buckets = cluster::ddp_buckets(*bytes);
  const auto exposed_by = [&](int nodes) {
    return cluster::exposed_s(buckets, k_backward * step_s,
                              [&](double bucket) { return all_reduce_s(nodes, bucket, scenario); });
  };
  setting.exposed_s = std::max(0.0, exposed_by(setting.nodes) - exposed_by(nodes_found(job)));
  uncertain.step += squared(k_formula_sd * setting.exposed_s / (step_s + setting.exposed_s));
}

/// Independent jitter of the step adds up over ranks that wait for each other; that of loading, prefetching evens out.
void apply_straggling(const JobModel& job, Setting& setting, Uncertainty& uncertain) {
  const double ranks = ranks_of(setting);
  if (ranks <= job.ranks) return;
  setting.straggling = job.cv_step * (cluster::expected_largest(ranks) - cluster::expected_largest(job.ranks));
  uncertain.step += squared(k_formula_sd * setting.straggling);
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
  uncertain.step += squared(k_scale_sd * doublings(ranks, job.ranks));
  uncertain.making +=
      squared(k_share_cores_sd * doublings(sharing, 1.0)) + squared(k_scale_sd * std::log2(setting.uses));
  if (ranks > k_twice * job.ranks || sharing > k_twice || setting.uses > k_twice) setting.extrapolated = true;
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
  if (!job.sample_bytes) return unmeasured(job, "cache_policy", "bytes read per sample");
  const double send_s = *job.sample_bytes / scenario.network_bandwidth->value();
  const double latency_s = scenario.network_latency ? scenario.network_latency->value() : 0.0;
  setting.remote_s = 2.0 * latency_s + send_s;
  setting.remote_share_s = on_a_node(setting) * send_s;
  return {};
}

Status apply_shared(const JobModel& job, const Scenario& scenario, Setting& setting, Uncertainty& uncertain) {
  STALLCAST_RETURN_IF_ERROR(apply_shared_storage(job, scenario, setting));
  apply_exchange(job, scenario, setting, uncertain);
  apply_straggling(job, setting, uncertain);
  return {};
}

}  // namespace stallcast::setting_parts
