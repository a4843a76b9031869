/// A job on a cluster, batch by batch: what closed forms cannot say. How caches warm up over epochs, how far ranks and
/// nodes are apart, what the slowest steps take, what losing a node's cache costs.
///
/// Each rank runs the recursion of loader.hpp (in order); all ranks wait for the slowest at the end of each step. What
/// a batch finds in caches is decided by the sampler's order, step by step and rank by rank, and not by who happens to
/// be faster: hits do not depend on times. Storage and links serve requests one after the other, in the order in which
/// they are made.
///
/// Worked example, 2 ranks, W = 1, k = 1, making 1 s (all of it reading) at storage that all share and that takes 1 s
/// a batch, steps of 1 s:
///
///   rank, batch       0,0  1,0  0,1  1,1    ranks ask storage in the order of time (ranks in turn where they tie)
///   begins              0    0    1    2    when the batch before it has been delivered
///   served              0    1    2    3    a second each, one after the other
///   ready               1    2    3    4
///   delivered           1    2    3    4    both ranks ask for batch 1 at 3, when the slower one's step 0 has ended
///   step ends             3         5
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "simulation/loader.hpp"

namespace stallcast::simulation {

enum class Caching {
  none,         ///< what comes from storage is given: Cluster::storage_share
  lru,          ///< each node for itself: the least recently used item goes
  random,       ///< each node for itself: any item goes
  page_cache,   ///< lru for some items and random for the others, which have random_share of the room: between them
  minio,        ///< each node for itself: what is in stays (CoorDL's MinIO)
  partitioned,  ///< an item is kept by the node that reads it first, if that has room; the others get it from there
  locality,     ///< likewise, and each step is dealt out so that nodes train on what they keep (Yang & Cong, HiPC 2019)
};

struct Caches {
  Caching policy = Caching::none;
  std::uint32_t room = 0;     ///< items that each node keeps
  double random_share = 0.5;  ///< of page_cache
};

/// Which items a batch reads. Each epoch is a fresh permutation, of which rank r of N takes every N-th item from the
/// r-th on (torch's DistributedSampler; an epoch longer than the data set begins again).
struct DataOrder {
  std::uint32_t items = 0;            ///< of the data set
  std::uint32_t items_per_batch = 1;  ///< at most 65535
  /// An item may stand for several samples, to save time and memory. Hit ratios do not depend on it; how much a batch's
  /// own share differs from the mean does, and is scaled to what single samples would give.
  double samples_per_item = 1.0;
  /// Items in the order in which the ranks take them in turn; replayed instead of permutations, from its beginning
  /// again where it ends.
  std::vector<std::uint32_t> recorded{};
};

/// From this step on what the node's cache held is gone, as if the node had been replaced: it goes on with an empty
/// cache, which fills again by its policy. Of a partitioned cache the lost part is read from storage again when it is
/// next asked for, and kept by the same node (DIESEL's task-grained cache, reloaded on demand).
struct NodeLoss {
  int epoch = 0;
  std::uint64_t step = 0;
  int node = 0;
  double pause_s = 0.0;  ///< in which nobody trains, before that step
};

struct Cluster {
  int nodes = 1;
  int ranks_per_node = 1;
  LoaderSetup loader{};  ///< in order
  std::uint64_t steps = 1;
  int epochs = 1;

  /// Batches and steps to draw from. read_s: waiting for storage where all of the batch comes from there and nobody
  /// else reads.
  std::vector<BatchWork> work{};
  std::vector<double> step_s{};
  bool in_turn = false;             ///< the n-th of each rank is the n-th of the lists, instead of a draw
  std::vector<double> node_slow{};  ///< factors on all that a node's ranks do; empty: 1
  double exchange_s = 0.0;          ///< after each step, by all together
  double samples_per_batch = 1.0;
  double storage_share = 1.0;  ///< of a batch's samples, where there is no cache

  Caches caches{};
  DataOrder order{};

  // A batch is read when its worker has read it and everything below has served it, whichever is later.
  double shared_s = 0.0;        ///< least time of a sample at the storage of all nodes
  double open_s = 0.0;          ///< likewise, at the metadata servers of that storage
  bool opens_cached = false;    ///< these are asked for samples that a cache of bytes holds as well
  double node_storage_s = 0.0;  ///< least time of a sample at its node's own storage, or way to storage
  double remote_s = 0.0;        ///< of a worker, for a sample from another node's memory
  double link_s = 0.0;          ///< least time of a sample at the link of a node, in and out
  std::vector<NodeLoss> losses{};
  std::uint64_t seed = 1;
};

/// Of the times of steps, from the end of one to the end of the next, without those in which an epoch's queues fill
/// (the first 2 W k + 2) or run dry (the last W k + 2), at most a quarter of the epoch each.
struct StepTimes {
  double mean_s = 0.0;
  double p50_s = 0.0;
  double p99_s = 0.0;
  double max_s = 0.0;
};

/// Shares of the samples, by where they came from. They add up to 1.
struct ReadFrom {
  double local = 0.0;
  double remote = 0.0;
  double storage = 0.0;
};

enum class Resource { step, exchange, workers, node_storage, shared_storage, network, shared_metadata };

struct EpochRun {
  double begin_s = 0.0;
  double duration_s = 0.0;
  StepTimes steps{};
  double waiting_frac = 0.0;     ///< of the time: for data, mean of the ranks
  double straggling_frac = 0.0;  ///< likewise: with the step done, for the slowest rank
  ReadFrom from{};
  /// Share of the time in which each Resource was busy; of the busiest node where each has one, of the slowest rank in
  /// each step, of what workers do themselves.
  std::array<double, 7> busy{};
  Resource binding = Resource::step;  ///< the busiest: a step and its exchange count together
};

/// Of the last epoch.
struct NodeRun {
  double waiting_frac = 0.0;
  double last_frac = 0.0;  ///< of the steps: one of its ranks was the last
  ReadFrom from{};
};

struct ClusterRun {
  std::vector<EpochRun> epochs{};
  std::vector<NodeRun> nodes{};
  std::vector<double> step_end_s{};    ///< of all steps, from the beginning of the run
  std::vector<double> rank_waiting{};  ///< of the last epoch, as waiting_frac
};

/// Bytes that the run takes at most, near enough to refuse one that does not fit.
[[nodiscard]] double memory_bytes(const Cluster& cluster);

/// Plays the whole run. The same input gives the same output on every machine.
[[nodiscard]] ClusterRun run_cluster(const Cluster& cluster);

}  // namespace stallcast::simulation
