/// Share of reads that a cache serves in the steady state, x = cache size / data size, every item read once an epoch.
///
/// Example, x = 0.5, a fresh permutation every epoch: MinIO keeps a fixed half and hits 0.5. LRU keeps what was read
/// last; an item is hit only if fewer than half of the items were read since, which for a random pair of positions
/// happens with 0.5 + 0.5 ln 0.5 = 0.153. Random replacement lies between, at 0.281; Linux between LRU and Random.
#pragma once

namespace stallcast {

/// Low, central and high value of a hit ratio.
struct HitBand {
  double low = 0.0;
  double mean = 0.0;
  double high = 0.0;
};

/// A cache that never evicts (MinIO, CoorDL; Mohan et al., VLDB 2021): x exactly, for any order of reads.
[[nodiscard]] double hit_minio(double x);

/// Least recently used under a fresh permutation each epoch: x + (1 - x) ln(1 - x).
[[nodiscard]] double hit_lru(double x);

/// Random replacement under a fresh permutation each epoch: H = phi(l)^2, phi(l) = (1 - e^-l)/l, l = (1 - H)/x.
[[nodiscard]] double hit_random(double x);

/// Linux' two-list page cache, which lies between LRU and Random (the band): their mean from x = 0.5 on, nearer to
/// Random below, as measured (Linux 6.18, 1.5 GB of 100 KB files: .071 .215 .363 .591 .755 at x = .25 .5 .65 .8 .9).
[[nodiscard]] HitBand hit_page_cache(double x);

/// The same where each of `nodes` nodes reads a random 1/nodes of the data an epoch: between LRU and Random, as much
/// nearer to Random as on one node.
[[nodiscard]] HitBand hit_page_cache_shards(double x, int nodes);

/// hit_page_cache_shards for the reads at one place of an epoch. What was read at the end of the epoch before is still
/// there when one begins, and of what is there later most has been read already: hits begin at about x and fall.
///
/// LRU as hit_lru_at. Random replacement of one node: phi(l) e^-(l at), misses taken to come evenly, as hit_random
/// does.
class PageCacheEpoch {
 public:
  PageCacheEpoch(double x, int nodes);

  /// `at` from 0, the epoch's begin, to 1, its end. The mean over it is hit_page_cache_shards.
  [[nodiscard]] HitBand at(double at) const;

 private:
  double x_;
  int nodes_;
  double evictions_;  ///< of an item that random replacement has cached, in an epoch: l
};

/// LRU of one node: 1 - (1 - x)/(1 - at), not below 0. An item that was last read when a of the epoch before were still
/// to come hits while (1 - a)(1 - at), what was not read since, exceeds 1 - x.
[[nodiscard]] double hit_lru_at(double x, int nodes, double at);

/// Random replacement where each of `nodes` nodes reads a random 1/nodes of the data an epoch; x is the part of the
/// whole data set that one node can hold. hit_random for one node; tends to x as nodes grow.
[[nodiscard]] double hit_random_shards(double x, int nodes);

/// LRU under the same reads.
[[nodiscard]] double hit_lru_shards(double x, int nodes);

}  // namespace stallcast
