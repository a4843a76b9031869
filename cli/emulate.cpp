#include "cli/emulate.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "core/units.hpp"
#include "model/analytic/cache.hpp"
#include "model/scenario/nearest_word.hpp"
#include "probes/collect/system/cpu_limit.hpp"

namespace stallcast::cli {
namespace {

using collect::EmulationOptions;
using record::EmulatedPolicy;

constexpr std::array<std::string_view, 6> k_keys{
    "storage_bandwidth", "storage_latency", "storage_iops", "cache", "cache_policy", "cpus"};
constexpr std::array<std::string_view, 6> k_policies{"minio", "lru", "random", "page-cache", "partitioned", "locality"};
constexpr char k_examples[] =
    "storage_bandwidth=200MB/s, storage_latency=2ms, storage_iops=500/s, cache=35%, cache_policy=minio, cpus=4";
constexpr double k_longest_latency_s = 60.0;
constexpr double k_least_quota = 0.01;  ///< 1 ms of each 100 ms: the kernel takes no less

Error usage(std::string what, std::string hint) {
  return Error{ErrorCode::usage, "--emulate " + std::move(what), std::move(hint)};
}

template <class Q>
Status take(std::optional<Q>& target, Result<Q> parsed) {
  if (!parsed) return parsed.error();
  target = parsed.value();
  return {};
}

Status take_latency(EmulationOptions& options, const std::string& value) {
  STALLCAST_RETURN_IF_ERROR(take(options.latency, parse_seconds(value)));
  if (options.latency->value() <= k_longest_latency_s) return {};
  return Error{ErrorCode::usage, fmt::format("a latency of {} is not one of storage", value), "write for example 2ms"};
}

Status take_cache(EmulationOptions& options, const std::string& value) {
  if (!value.empty() && value.back() == '%') return take(options.cache_share, parse_percent(value));
  auto size = parse_bytes(value);
  if (!size) {
    return Error{ErrorCode::usage, fmt::format("'{}' is neither a share of the data set nor a size", value),
                 "write it with its unit, for example 35% or 100GiB"};
  }
  options.cache_size = size.value();
  return {};
}

Status take_policy(EmulationOptions& options, const std::string& value) {
  if (value == "minio") options.policy = EmulatedPolicy::minio;
  if (value == "lru") options.policy = EmulatedPolicy::lru;
  if (value == "random") options.policy = EmulatedPolicy::random;
  if (options.policy != EmulatedPolicy::none) return {};
  if (value == "page-cache") {
    return Error{ErrorCode::usage, "'page-cache' cannot be emulated: Linux' own policy has no exact model",
                 "lru and random bound it from below and above; a memory limit shows the real one"};
  }
  if (std::find(k_policies.begin(), k_policies.end(), value) != k_policies.end()) {
    return Error{ErrorCode::usage, fmt::format("'{}' is a policy of several nodes", value),
                 "write minio, lru or random"};
  }
  const auto nearest = nearest_word(value, k_policies);
  return Error{ErrorCode::usage, fmt::format("there is no cache policy '{}'", value),
               nearest ? fmt::format("did you mean '{}'?", *nearest) : "write minio, lru or random"};
}

Error more_cpus_than_here(int usable) {
  return {ErrorCode::usage, fmt::format("there are only {} to use here", usable),
          fmt::format("write cpus={} or less; `stallcast whatif` predicts more", usable)};
}

/// Whole CPUs by affinity, whoever emulates; a part of one by a quota, which takes the kernel.
Status take_cpu_quota(EmulationOptions& options, const std::string& value) {
  const auto cpus = parse_factor(value);
  if (!cpus || cpus.value() < k_least_quota || value.back() == 'x') {
    return Error{ErrorCode::usage, fmt::format("'{}' is not a number of CPUs from {} on", value, k_least_quota),
                 "write for example cpus=1.5"};
  }
  const int usable = static_cast<int>(collect::allowed_cpus().size());
  if (cpus.value() > usable) return more_cpus_than_here(usable);
  options.cpu_quota = cpus.value();
  return {};
}

Status take_cpus(EmulationOptions& options, const std::string& value) {
  if (options.by_kernel && value.find('.') != std::string::npos) return take_cpu_quota(options, value);
  const auto cpus = parse_count(value);
  if (!cpus || cpus.value() < 1) {
    return Error{ErrorCode::usage, fmt::format("'{}' is not a whole number of CPUs from 1 on", value),
                 "write for example cpus=4; a part of a CPU takes a quota: --emulate-with kernel"};
  }
  const int usable = static_cast<int>(collect::allowed_cpus().size());
  if (cpus.value() > usable) return more_cpus_than_here(usable);
  options.cpus = cpus.value();
  return {};
}

/// The kernel counts whole bytes and whole reads a second.
Status take_storage_rates(EmulationOptions& options, std::string_view key, const std::string& value) {
  const bool bytes = key == "storage_bandwidth";
  STALLCAST_RETURN_IF_ERROR(bytes ? take(options.bandwidth, parse_bandwidth(value))
                                  : take(options.requests, parse_rate(value)));
  if (!options.by_kernel) return {};
  const double rate = bytes ? options.bandwidth->value() : options.requests->value();
  const double most = bytes ? 1e15 : 4e9;
  if (rate >= 1.0 && rate <= most && (bytes || rate == std::floor(rate))) return {};
  return Error{ErrorCode::usage, fmt::format("the kernel cannot limit to {}", value),
               bytes ? "write for example 200MB/s" : "write a whole number, for example 500/s"};
}

/// What only the interposer can do.
Status check_kernel_can(std::string_view key) {
  if (key == "storage_latency") {
    return Error{ErrorCode::usage, "the kernel limits rates; it cannot make each read take longer",
                 "leave --emulate-with out: the interposer can"};
  }
  if (key != "cache" && key != "cache_policy") return {};
  return Error{ErrorCode::usage,
               "a memory limit is no cache of that size: it holds the job's own memory too, and not what others have "
               "read",
               "leave --emulate-with out, with cache_policy=minio, lru or random; or profile under a memory limit of "
               "your own (systemd-run --scope -p MemoryMax=...)"};
}

Status take_value(EmulationOptions& options, std::string_view key, const std::string& value) {
  if (options.by_kernel) STALLCAST_RETURN_IF_ERROR(check_kernel_can(key));
  if (key == "storage_bandwidth" || key == "storage_iops") return take_storage_rates(options, key, value);
  if (key == "storage_latency") return take_latency(options, value);
  if (key == "cache") return take_cache(options, value);
  if (key == "cache_policy") return take_policy(options, value);
  return take_cpus(options, value);
}

Status take_setting(EmulationOptions& options, const std::string& setting) {
  const std::size_t equals = setting.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == setting.size()) {
    return usage(fmt::format("'{}' is not KEY=VALUE", setting), fmt::format("write for example {}", k_examples));
  }
  const std::string key = setting.substr(0, equals);
  const std::string value = setting.substr(equals + 1);
  if (std::find(k_keys.begin(), k_keys.end(), key) == k_keys.end()) {
    const auto nearest = nearest_word(key, k_keys);
    return usage(fmt::format("'{}' cannot be emulated", key), nearest
                                                                  ? fmt::format("did you mean '{}'?", *nearest)
                                                                  : fmt::format("write for example {}", k_examples));
  }
  const auto is_same = [&](const auto& item) { return item.first == key; };
  if (std::any_of(options.items.begin(), options.items.end(), is_same)) {
    return usage(fmt::format("'{}' is given twice", key), "give each key once");
  }
  const Status taken = take_value(options, key, value);
  if (!taken.ok()) return usage(fmt::format("{}: {}", key, taken.error().what), taken.error().hint);
  options.items.emplace_back(key, value);
  return {};
}

Status check_whole(const EmulationOptions& options) {
  const bool has_cache = options.cache_share || options.cache_size;
  if (options.policy != EmulatedPolicy::none && !has_cache) {
    return usage("cache_policy means nothing without a cache", "add its size, for example cache=35%");
  }
  if (has_cache && !options.has_storage()) {
    return usage("cache says what is read from storage, and no storage is emulated",
                 "say what a miss costs, for example storage_bandwidth=200MB/s");
  }
  return {};
}

/// MinIO, unless something else was asked for. A share is emulated as a cache that has seen the data before: its first
/// reads hit as often as all others, so that a run need not last for several epochs.
void settle_cache(EmulationOptions& options) {
  if (!options.cache_share && !options.cache_size) return;
  if (options.policy == EmulatedPolicy::none) options.policy = EmulatedPolicy::minio;
  if (!options.cache_share) return;
  if (options.policy == EmulatedPolicy::lru) options.first_hit_share = hit_lru(*options.cache_share);
  if (options.policy == EmulatedPolicy::random) options.first_hit_share = hit_random(*options.cache_share);
}

}  // namespace

Result<EmulationOptions> parse_emulation(std::span<const std::string> settings, const std::string& with) {
  if (with != "interposer" && with != "kernel") {
    return Error{ErrorCode::usage, fmt::format("--emulate-with '{}' is not known", with), "write interposer or kernel"};
  }
  EmulationOptions options;
  options.by_kernel = with == "kernel";
  if (options.by_kernel && settings.empty()) {
    return usage("is not given, and --emulate-with says how", fmt::format("write for example {}", k_examples));
  }
  for (const std::string& setting : settings) STALLCAST_RETURN_IF_ERROR(take_setting(options, setting));
  STALLCAST_RETURN_IF_ERROR(check_whole(options));
  settle_cache(options);
  return options;
}

}  // namespace stallcast::cli
