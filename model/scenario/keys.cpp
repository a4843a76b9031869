#include "model/scenario/keys.hpp"

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

constexpr std::array<ScenarioKey, 30> k_keys{{
    {"cache", [](Scenario& s, std::string_view v) { return set_cache(s, v); }, "35%"},
    {"cache_policy", [](Scenario& s, std::string_view v) { return set_policy(s, v); }, "minio"},
    {"cpus", [](Scenario& s, std::string_view v) { return set_cpus(s.cpus, v); }, "4"},
    {"workers", [](Scenario& s, std::string_view v) { return set_count(s.workers, v, 0, k_most_asked_workers); }, "4"},
    {"prefetch", [](Scenario& s, std::string_view v) { return set_count(s.prefetch, v, 1, k_most_asked_prefetch); },
     "4"},
    {"batch", [](Scenario& s, std::string_view v) { return set_count(s.batch, v, 1, k_largest_batch); }, "64"},
    {"gpu_speedup", [](Scenario& s, std::string_view v) { return set_speedup(s, v); }, "2"},
    {"storage_bandwidth",
     [](Scenario& s, std::string_view v) { return set_parsed(s.storage_bandwidth, parse_bandwidth(v)); }, "1GB/s"},
    {"storage_latency", [](Scenario& s, std::string_view v) { return set_parsed(s.storage_latency, parse_seconds(v)); },
     "1ms"},
    {"storage_iops", [](Scenario& s, std::string_view v) { return set_parsed(s.storage_iops, parse_rate(v)); },
     "10k/s"},
    {"layout", [](Scenario& s, std::string_view v) { return set_layout(s, v); }, "shards:1GiB"},
    {"metadata", [](Scenario& s, std::string_view v) { return set_metadata(s, v); }, "snapshot"},
    {"staging", [](Scenario& s, std::string_view v) { return set_staging(s, v); }, "overlap"},
    {"local_disk_bandwidth",
     [](Scenario& s, std::string_view v) { return set_parsed(s.local_disk_bandwidth, parse_bandwidth(v)); }, "1GB/s"},
    {"local_disk", [](Scenario& s, std::string_view v) { return set_parsed(s.local_disk, parse_bytes(v)); }, "1TB"},
    {"operator", [](Scenario& s, std::string_view v) { return set_operators(s, v); }, "any:x2"},
    {"nodes", [](Scenario& s, std::string_view v) { return set_count(s.nodes, v, 1, k_most_nodes); }, "2", true},
    {"gpus_per_node",
     [](Scenario& s, std::string_view v) { return set_count(s.gpus_per_node, v, 1, k_most_ranks_of_node); }, "2", true},
    {"network_bandwidth",
     [](Scenario& s, std::string_view v) { return set_parsed(s.network_bandwidth, parse_bandwidth(v)); }, "25Gbit/s",
     true},
    {"network_latency", [](Scenario& s, std::string_view v) { return set_parsed(s.network_latency, parse_seconds(v)); },
     "5us", true},
    {"prep_cpus", [](Scenario& s, std::string_view v) { return set_cpus(s.prep_cpus, v); }, "64", true},
    {"shared_storage_bandwidth",
     [](Scenario& s, std::string_view v) { return set_parsed(s.shared_storage_bandwidth, parse_bandwidth(v)); },
     "10GB/s", true},
    {"shared_storage_files_per_s",
     [](Scenario& s, std::string_view v) { return set_parsed(s.shared_storage_files_per_s, parse_rate(v)); }, "20k/s",
     true},
    {"shared_storage_metadata_per_s",
     [](Scenario& s, std::string_view v) { return set_parsed(s.shared_storage_metadata_per_s, parse_rate(v)); },
     "50k/s", true},
    {"shared_storage_contention",
     [](Scenario& s, std::string_view v) { return set_coefficient(s.shared_storage_contention, v); }, "2%", true},
    {"shared_storage_coherence",
     [](Scenario& s, std::string_view v) { return set_coefficient(s.shared_storage_coherence, v); }, "0.1%", true},
    {"gradients", [](Scenario& s, std::string_view v) { return set_parsed(s.gradients, parse_bytes(v)); }, "100MB",
     true},
    {"jobs", [](Scenario& s, std::string_view v) { return set_count(s.jobs, v, 1, k_most_ranks_of_node); }, "2", true},
    {"coordinated_prep", [](Scenario& s, std::string_view v) { return set_switch(s.coordinated_prep, v); }, "on", true},
    {"echo", [](Scenario& s, std::string_view v) { return set_echo(s, v); }, "2", true},
}};

}  // namespace

std::span<const ScenarioKey> key_table() {
  return k_keys;
}

}  // namespace stallcast
