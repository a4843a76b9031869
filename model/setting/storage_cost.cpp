#include "model/setting/storage_cost.hpp"

#include <algorithm>
#include <cmath>

#include "model/setting/constants.hpp"

namespace stallcast {
namespace {

/// Standard normal distribution function.
double normal_below(double z) {
  return 0.5 * std::erfc(-z * 0.7071067811865476);
}

/// Inverse of the normal distribution function near enough for a prior's centre (logistic approximation).
double normal_quantile(double p) {
  return std::log(p / (1.0 - p)) / 1.702;
}

/// How many take part in each read of the shared part while the other workers were there as found.
double crowd(const JobModel& job, double share) {
  return 1.0 + std::max(0, job.workers - 1) * job.storage_presence * share;
}

/// Of the shared part, what was queueing behind the other workers as found is not service.
StorageCost guessed(const JobModel& job, const Parameters& parameters) {
  const double waiting = *job.storage_s * std::exp(parameters.storage);
  const double share = normal_below(normal_quantile(job.bandwidth_share) + parameters.bandwidth);
  return {share * waiting / crowd(job, share), (1.0 - share) * waiting};
}

/// What is read ahead is waited for by the bytes.
///
/// Worked example. A stream gave 287 samples/s from storage and 640 from memory: a sample takes 3.5 ms of the storage,
/// and 1.7 of one twice as fast, which the workers (1.6 ms) hide but for 0.1.
StorageCost streamed(const JobModel& job, const Parameters& parameters) {
  const double waiting = *job.storage_s * std::exp(parameters.storage);
  const double demand_s = job.stream_demand_s ? *job.stream_demand_s * std::exp(k_demand_step * parameters.bandwidth)
                                              : waiting / std::max(1, job.workers);
  return {demand_s, k_least_latency_share * waiting};
}

/// What the shared part does not explain of the waiting as found is latency, except behind a token bucket: below its
/// rate nobody waits for it to fill.
StorageCost probed(const JobModel& job, const Parameters& parameters) {
  const double waiting = *job.storage_s * std::exp(parameters.storage);
  const double share = std::min(1.0, *job.storage_demand_s / waiting);
  StorageCost cost;
  cost.demand_s = *job.storage_demand_s * std::exp(k_demand_step * parameters.bandwidth);
  cost.latency_s = std::max(k_least_latency_share * waiting, waiting - cost.demand_s * crowd(job, share));
  if (!job.idle_read_s) return cost;
  // Idle storage takes no longer than the job's reads did, which found it busy; the probe's first after a pause may.
  cost.latency_s += saved_between_reads(job) * (std::min(*job.idle_read_s, waiting) - cost.latency_s);
  return cost;
}

}  // namespace

double probed_ceiling_units(const JobModel& job) {
  const bool by_stream = job.stream_demand_s && job.stream_demand_s != job.storage_demand_s;
  return by_stream ? 1.0 : std::max(1.0, job.storage_demand_sd / k_demand_step);
}

double saved_between_reads(const JobModel& job) {
  if (job.reads_ahead) return 1.0;
  return std::clamp((job.storage_saved - k_saved_by_noise) / (k_saved_surely - k_saved_by_noise), 0.0, 1.0);
}

StorageCost storage_cost(const JobModel& job, const Setting& setting, const Parameters& parameters) {
  StorageCost cost;
  if (job.storage_s && job.reads_ahead) {
    cost = streamed(job, parameters);
  } else if (job.storage_s) {
    cost = job.storage_demand_s ? probed(job, parameters) : guessed(job, parameters);
  }
  cost.demand_s *= setting.ranks_per_node * setting.jobs / job.ranks_per_host;
  cost.demand_s *= setting.demand_factor;
  cost.latency_s *= setting.latency_factor;
  cost.latency_s = std::max(0.0, cost.latency_s - setting.metadata_s * std::exp(parameters.storage));
  if (setting.demand_s) cost.demand_s = *setting.demand_s;
  cost.demand_s = std::max(cost.demand_s, setting.least_demand_s);
  if (setting.latency_s) cost.latency_s = *setting.latency_s;
  return cost;
}

}  // namespace stallcast
