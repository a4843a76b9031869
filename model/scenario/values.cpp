#include "model/scenario/values.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "core/units.hpp"
#include "model/scenario/constants.hpp"
#include "model/scenario/nearest_word.hpp"
#include "model/scenario/operator_changes.hpp"

namespace stallcast {
namespace {

Status set_cache(Scenario& scenario, std::string_view value) {
  if (!value.empty() && value.back() == '%') {
    auto fraction = parse_percent(value);
    if (!fraction) return fraction.error();
    scenario.cache_fraction = fraction.value();
    return {};
  }
  auto size = parse_bytes(value);
  if (!size) {
    return usage_error("'" + std::string(value) + "' is neither a share of the data set nor a size",
                       "write it with its unit, for example 35% or 100GiB");
  }
  scenario.cache_size = size.value();
  return {};
}

/// The place of `value` in `words`; the error suggests the nearest, or says `write`.
template <std::size_t N>
Result<std::size_t> one_of(const std::array<std::string_view, N>& words, std::string_view value, const char* what,
                           const char* write) {
  const auto found = std::find(words.begin(), words.end(), value);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  const auto nearest = nearest_word(value, words);
  return usage_error("there is no " + std::string(what) + " '" + std::string(value) + "'",
                     nearest ? "did you mean '" + std::string(*nearest) + "'?" : write);
}

Status set_policy(Scenario& scenario, std::string_view value) {
  constexpr std::array<std::string_view, 4> k_policies{"page-cache", "minio", "partitioned", "locality"};
  const auto policy = one_of(k_policies, value, "cache policy", "write page-cache, minio, partitioned or locality");
  if (!policy) return policy.error();
  scenario.cache_policy = static_cast<CachePolicy>(policy.value());
  return {};
}

Status set_layout(Scenario& scenario, std::string_view value) {
  constexpr const char* k_write = "write layout=files, or layout=shards:4MiB with the size of a shard";
  constexpr std::array<std::string_view, 2> k_layouts{"files", "shards"};
  const std::size_t colon = std::min(value.find(':'), value.size());
  const auto layout = one_of(k_layouts, value.substr(0, colon), "layout", k_write);
  if (!layout) return layout.error();
  const bool in_shards = layout.value() == 1;
  if (in_shards != (colon < value.size())) {
    return usage_error(in_shards ? "shards need their size" : "files have the size that they have", k_write);
  }
  if (in_shards) {
    const auto size = parse_bytes(value.substr(colon + 1));
    if (!size) return size.error();
    if (!(size.value().value() > 0.0)) return usage_error("shards of no bytes hold nothing", k_write);
    scenario.shard = size.value();
  }
  scenario.in_shards = in_shards;
  return {};
}

Status set_metadata(Scenario& scenario, std::string_view value) {
  constexpr std::array<std::string_view, 2> k_places{"remote", "snapshot"};
  const auto place = one_of(k_places, value, "place of metadata", "write metadata=snapshot, or metadata=remote");
  if (!place) return place.error();
  scenario.metadata_snapshot = place.value() == 1;
  return {};
}

Status set_staging(Scenario& scenario, std::string_view value) {
  constexpr std::array<std::string_view, 3> k_ways{"none", "before", "overlap"};
  const auto way = one_of(k_ways, value, "staging", "write staging=none, staging=before or staging=overlap");
  if (!way) return way.error();
  scenario.staging = static_cast<Staging>(way.value());
  return {};
}

Status set_count(std::optional<int>& target, std::string_view value, int least, int most) {
  auto count = parse_count(value);
  if (!count) return count.error();
  if (count.value() < least || count.value() > most) {
    return usage_error(
        "'" + std::string(value) + "' is outside " + std::to_string(least) + " to " + std::to_string(most),
        "write for example " + std::to_string(std::max(least, 2)));
  }
  target = count.value();
  return {};
}

template <class Q>
Status set_parsed(std::optional<Q>& target, Result<Q> parsed) {
  if (!parsed) return parsed.error();
  target = parsed.value();
  return {};
}

Status set_cpus(std::optional<double>& target, std::string_view value) {
  auto cpus = parse_factor(value);
  if (!cpus || cpus.value() > 100'000.0 || value.back() == 'x') {
    return usage_error("'" + std::string(value) + "' is not a number of CPUs above zero",
                       "write for example 4, or 1.5 for a quota");
  }
  target = cpus.value();
  return {};
}

Status set_speedup(Scenario& scenario, std::string_view value) {
  auto factor = parse_factor(value);
  if (!factor) return factor.error();
  if (factor.value() < 1e-3 || factor.value() > 1e3) {
    return usage_error("a gpu_speedup of " + std::string(value) + " is outside 0.001 to 1000",
                       "write for example 2 or 0.5x");
  }
  scenario.gpu_speedup = factor.value();
  return {};
}

Status set_switch(std::optional<bool>& target, std::string_view value) {
  if (value != "on" && value != "off")
    return usage_error("'" + std::string(value) + "' is neither on nor off", "write on");
  target = value == "on";
  return {};
}

/// A coefficient of the universal scalability law: 2%, or 0.02.
Status set_coefficient(std::optional<double>& target, std::string_view value) {
  constexpr double k_most = 1.0;
  const bool is_percent = !value.empty() && value.back() == '%';
  const bool is_zero = value == "0";
  const auto share = is_percent ? parse_percent(value) : is_zero ? Result<double>(0.0) : parse_factor(value);
  if (!share || share.value() > k_most || (!is_percent && value.back() == 'x')) {
    return usage_error("'" + std::string(value) + "' is not a coefficient from 0 to 1", "write for example 2% or 0.02");
  }
  target = share.value();
  return {};
}

Status set_echo(Scenario& scenario, std::string_view value) {
  auto times = parse_factor(value);
  if (!times) return times.error();
  if (times.value() < 1.0 || times.value() > k_most_echoes) {
    return usage_error("an echo of " + std::string(value) + " is outside 1 to 1000", "write for example 2");
  }
  scenario.echo = times.value();
  return {};
}

/// The keys that ask beyond the machine that was profiled.
Status set_cluster_value(Scenario& scenario, std::string_view key, std::string_view value) {
  if (key == "nodes") return set_count(scenario.nodes, value, 1, k_most_nodes);
  if (key == "gpus_per_node") return set_count(scenario.gpus_per_node, value, 1, k_most_ranks_of_node);
  if (key == "network_bandwidth") return set_parsed(scenario.network_bandwidth, parse_bandwidth(value));
  if (key == "network_latency") return set_parsed(scenario.network_latency, parse_seconds(value));
  if (key == "prep_cpus") return set_cpus(scenario.prep_cpus, value);
  if (key == "shared_storage_bandwidth") return set_parsed(scenario.shared_storage_bandwidth, parse_bandwidth(value));
  if (key == "shared_storage_files_per_s") return set_parsed(scenario.shared_storage_files_per_s, parse_rate(value));
  if (key == "shared_storage_metadata_per_s") {
    return set_parsed(scenario.shared_storage_metadata_per_s, parse_rate(value));
  }
  if (key == "shared_storage_contention") return set_coefficient(scenario.shared_storage_contention, value);
  if (key == "shared_storage_coherence") return set_coefficient(scenario.shared_storage_coherence, value);
  if (key == "gradients") return set_parsed(scenario.gradients, parse_bytes(value));
  if (key == "jobs") return set_count(scenario.jobs, value, 1, k_most_ranks_of_node);
  if (key == "coordinated_prep") return set_switch(scenario.coordinated_prep, value);
  return set_echo(scenario, value);
}

}  // namespace

Status set_value(Scenario& scenario, std::string_view key, std::string_view value) {
  if (key == "cache") return set_cache(scenario, value);
  if (key == "cache_policy") return set_policy(scenario, value);
  if (key == "cpus") return set_cpus(scenario.cpus, value);
  if (key == "workers") return set_count(scenario.workers, value, 0, k_most_asked_workers);
  if (key == "prefetch") return set_count(scenario.prefetch, value, 1, k_most_asked_prefetch);
  if (key == "batch") return set_count(scenario.batch, value, 1, k_largest_batch);
  if (key == "gpu_speedup") return set_speedup(scenario, value);
  if (key == "storage_bandwidth") return set_parsed(scenario.storage_bandwidth, parse_bandwidth(value));
  if (key == "storage_latency") return set_parsed(scenario.storage_latency, parse_seconds(value));
  if (key == "operator") return set_operators(scenario, value);
  if (key == "storage_iops") return set_parsed(scenario.storage_iops, parse_rate(value));
  if (key == "layout") return set_layout(scenario, value);
  if (key == "metadata") return set_metadata(scenario, value);
  if (key == "staging") return set_staging(scenario, value);
  if (key == "local_disk_bandwidth") return set_parsed(scenario.local_disk_bandwidth, parse_bandwidth(value));
  if (key == "local_disk") return set_parsed(scenario.local_disk, parse_bytes(value));
  return set_cluster_value(scenario, key, value);
}

}  // namespace stallcast
