/// What a user asks: "what if" settings with their units, and sweeps over them.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/quantity.hpp"
#include "core/result.hpp"
#include "model/scenario/prediction.hpp"

namespace stallcast {

enum class CachePolicy {
  page_cache,   ///< Linux' own, band between LRU and Random
  minio,        ///< never evicts
  partitioned,  ///< each node keeps another part; what is elsewhere comes over the network (CoorDL)
  locality,     ///< likewise, and each node trains on what it keeps (Yang & Cong)
};

/// When a node's data is copied to its own disk.
enum class Staging {
  none,     ///< never: read from where it is
  before,   ///< before the training begins
  overlap,  ///< during the first epoch, at the pace of the training or of the storage
};

/// An operator (transform) of the workers that is to be so many times as fast; infinitely: it is gone.
struct OperatorChange {
  std::string name{};  ///< its name, or its place in the chain; "all": every one but collating
  double speedup = 1.0;
  bool on_device = false;  ///< so many times as fast on the accelerator, in place of a worker
};

/// Settings of one question. What is not set stays as profiled.
struct Scenario {
  std::vector<ScenarioItem> items{};       ///< as written, in order
  std::optional<double> cache_fraction{};  ///< of the data set
  std::optional<Bytes> cache_size{};       ///< instead of cache_fraction
  std::optional<CachePolicy> cache_policy{};
  std::optional<double> cpus{};  ///< usable by the job on each host; fractional where a quota is
  std::optional<int> workers{};  ///< of one rank
  std::optional<int> prefetch{};
  std::optional<int> batch{};  ///< samples of a batch of one rank
  std::optional<double> gpu_speedup{};
  std::optional<BytesPerSecond> storage_bandwidth{};  ///< ceiling for the whole job; of each node where nodes is set
  std::optional<Seconds> storage_latency{};           ///< of reading one sample, before its first byte
  std::optional<PerSecond> storage_iops{};            ///< likewise, in requests
  std::vector<OperatorChange> operators{};
  std::optional<bool> in_shards{};  ///< true: `shard` is their size; false: one file a sample
  Bytes shard{};
  std::optional<bool> metadata_snapshot{};  ///< true: opens and stats are answered locally
  std::optional<Staging> staging{};
  std::optional<BytesPerSecond> local_disk_bandwidth{};  ///< of a node's own disk, reading and writing
  std::optional<Bytes> local_disk{};                     ///< its room; all of the data fits where it is not set
  std::optional<int> nodes{};
  std::optional<int> gpus_per_node{};                        ///< ranks on each node
  std::optional<BytesPerSecond> network_bandwidth{};         ///< of each node, in each direction
  std::optional<Seconds> network_latency{};                  ///< of one message
  std::optional<double> prep_cpus{};                         ///< of extra hosts, which prepare for all of the job
  std::optional<BytesPerSecond> shared_storage_bandwidth{};  ///< ceiling for all nodes together
  std::optional<PerSecond> shared_storage_files_per_s{};     ///< likewise
  std::optional<PerSecond> shared_storage_metadata_per_s{};  ///< likewise, files opened, in memory or not
  /// How what they get together grows with their number n: n / (1 + contention (n-1) + coherence n (n-1)) times what
  /// the profiled host gets.
  std::optional<double> shared_storage_contention{};
  std::optional<double> shared_storage_coherence{};
  std::optional<Bytes> gradients{};        ///< that a rank sums up with the others in each step
  std::optional<int> jobs{};               ///< such jobs on each node, the answer is of one of them
  std::optional<bool> coordinated_prep{};  ///< they share one sweep of fetching and preparing
  std::optional<double> echo{};            ///< times that a batch is trained on before the next
};

/// Every scenario key that this version answers, in the order of the documentation.
[[nodiscard]] std::span<const std::string_view> scenario_keys();

/// Whether `key` asks of more than the machine that was profiled: several nodes, several jobs, another use of batches.
[[nodiscard]] bool asks_beyond_machine(std::string_view key);

/// Sets `key` to `value` in `scenario`. Errors (usage): a key that is not known (the nearest is suggested), a
/// value without its unit, an impossible value, a key set twice.
[[nodiscard]] Status set_key(Scenario& scenario, std::string_view key, std::string_view value);

/// A scenario from "KEY=VALUE" texts. Errors as set_key, and settings that contradict each other.
[[nodiscard]] Result<Scenario> parse_scenario(std::span<const std::string> settings);

/// Most nodes that a scenario or a catalogue may name.
inline constexpr int k_most_nodes = 100'000;

/// Most scenarios of one grid.
inline constexpr std::size_t k_largest_grid = 100'000;

/// All combinations of the sweeps "KEY=V1,V2,..." on top of `settings`, the last sweep varying fastest. Combinations
/// that contradict themselves (workers=0 with a prefetch factor) are an error unless both keys are swept; then they
/// are left out. Errors as parse_scenario; a grid above k_largest_grid is refused with its size.
[[nodiscard]] Result<std::vector<Scenario>> parse_grid(std::span<const std::string> settings,
                                                       std::span<const std::string> sweeps);

}  // namespace stallcast
