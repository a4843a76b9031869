#include "model/predict/uncertainty.hpp"

#include <array>
#include <cmath>

#include "model/predict/constants.hpp"

namespace stallcast {
namespace {

struct Unknown {
  double (*value)(const Draw&);
  const char* measured_by;
};

constexpr const char* k_other_workers =
    "what another number of workers brings (measured by a profile without --phases as_is, or by a second profile with "
    "another num_workers)";

constexpr std::array<Unknown, 8> k_unknowns{{
    {[](const Draw& d) { return d.parameters.step; }, "how fast the job can ingest (measured by the state synthetic)"},
    {[](const Draw& d) { return d.parameters.prep; },
     "how fast workers make batches (measured by the states cached and supply)"},
    {[](const Draw& d) { return d.parameters.storage; },
     "what reading from storage costs (measured by the state cold)"},
    {[](const Draw& d) { return d.parameters.bandwidth; },
     "whether more readers get more out of the storage (measured by stallcast storage on the data set's folder, or by "
     "a "
     "profile with another num_workers)"},
    {[](const Draw& d) { return d.parameters.beside; }, k_other_workers},
    {[](const Draw& d) { return d.error.making; }, k_other_workers},
    {[](const Draw& d) { return d.error.step; },
     "how the step changes with batch size, device or cores (measured by a run with these changed)"},
    {[](const Draw& d) { return d.error.hits; }, "the page cache's hit ratio (measured by a profile of a later epoch)"},
}};

struct Moments {
  double mean = 0.0;
  double variance = 0.0;
};

template <class Value>
Moments moments(std::size_t n, Value value) {
  Moments m;
  for (std::size_t i = 0; i < n; ++i) m.mean += value(i) / static_cast<double>(n);
  for (std::size_t i = 0; i < n; ++i) m.variance += std::pow(value(i) - m.mean, 2.0) / static_cast<double>(n);
  return m;
}

}  // namespace

KeyAvailability availability(const JobModel& job, std::string_view key) {
  // Asked with a value that every job accepts, so that an error can only mean a missing input.
  constexpr std::array<std::pair<std::string_view, std::string_view>, 30> k_probes{
      {{"cache", "35%"},
       {"cache_policy", "minio"},
       {"cpus", "4"},
       {"workers", "4"},
       {"prefetch", "4"},
       {"batch", "64"},
       {"gpu_speedup", "2"},
       {"storage_bandwidth", "1GB/s"},
       {"storage_latency", "1ms"},
       {"storage_iops", "10k/s"},
       {"layout", "shards:1GiB"},
       {"metadata", "snapshot"},
       {"staging", "overlap"},
       {"local_disk_bandwidth", "1GB/s"},
       {"local_disk", "1TB"},
       {"operator", ""},
       {"nodes", "2"},
       {"gpus_per_node", "2"},
       {"network_bandwidth", "25Gbit/s"},
       {"network_latency", "5us"},
       {"prep_cpus", "64"},
       {"shared_storage_bandwidth", "10GB/s"},
       {"shared_storage_files_per_s", "20k/s"},
       {"shared_storage_metadata_per_s", "50k/s"},
       {"shared_storage_contention", "2%"},
       {"shared_storage_coherence", "0.1%"},
       {"gradients", "100MB"},
       {"jobs", "2"},
       {"coordinated_prep", "on"},
       {"echo", "2"}}};
  const std::string operators = (job.operators.empty() ? "any" : job.operators.front().name) + ":x2";
  KeyAvailability result{std::string(key), true, "", ""};
  for (const auto& [probed, probe] : k_probes) {
    if (probed != key) continue;
    const std::string_view value = probed == "operator" ? std::string_view(operators) : probe;
    Scenario scenario;
    Status status = set_key(scenario, probed, value);
    if (status.ok() && key == "prep_cpus") status = set_key(scenario, "network_bandwidth", "25Gbit/s");
    if (status.ok() && key == "staging") status = set_key(scenario, "local_disk_bandwidth", "1GB/s");
    if (status.ok()) {
      const auto setting = resolve(job, scenario);
      if (setting.ok()) return result;
      status = setting.error();
    }
    result.available = false;
    result.reason = status.error().what;
    result.unlocked_by = status.error().hint;
  }
  return result;
}

std::string widest_contribution(std::span<const Draw> draws, std::span<const double> log_rates) {
  const std::size_t n = draws.size();
  if (n < 8 || log_rates.size() != n) return {};
  const Moments rate = moments(n, [&](std::size_t i) { return log_rates[i]; });
  if (std::sqrt(rate.variance) < k_wide_log_rate_sd) return {};
  const char* best = nullptr;
  double most = k_least_explained_share;
  for (const Unknown& unknown : k_unknowns) {
    const Moments own = moments(n, [&](std::size_t i) { return unknown.value(draws[i]); });
    if (own.variance <= 0.0) continue;
    double covariance = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      covariance += (log_rates[i] - rate.mean) * (unknown.value(draws[i]) - own.mean) / static_cast<double>(n);
    }
    const double explained = covariance * covariance / (rate.variance * own.variance);
    if (explained > most) {
      most = explained;
      best = unknown.measured_by;
    }
  }
  return best == nullptr ? std::string() : std::string(best);
}

}  // namespace stallcast
