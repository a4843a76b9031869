/// Closed forms for what several nodes share: collectives, stragglers, caches that hold together, storage.
///
/// Worked example: 8 nodes of 4 GPUs train ResNet-50 (102 MB of gradients) over links of 12.5 GB/s. A ring sends
/// 2 (7/8) 102 MB past each node: 14.3 ms. The backward pass takes 100 ms, and the gradients come in buckets of
/// 1, 26.2, 26.2, 26.2 and 22.3 MB: all but the last one's 3.1 ms happens behind it.
#pragma once

#include <functional>
#include <vector>

namespace stallcast::cluster {

/// A link of a node: bytes/s in each direction, and seconds until the first of them is there.
struct Link {
  double bandwidth = 0.0;
  double latency_s = 0.0;
};

/// All-reduce of `bytes` by `nodes` in a ring: 2 (n - 1) latency + 2 ((n - 1)/n) bytes/bandwidth (Patarasuk & Yuan,
/// JPDC 2009). 0 for one node.
[[nodiscard]] double ring_s(int nodes, double bytes, const Link& link);

/// By a double binary tree: 2 log2(n) latency + 2 bytes/bandwidth (Sanders et al., 2009), as NCCL does for many nodes.
[[nodiscard]] double tree_s(int nodes, double bytes, const Link& link);

/// Bytes of the buckets in which PyTorch's DistributedDataParallel exchanges `bytes` of gradients, the one that is
/// ready first first: 1 MiB, so that the network has something to do early, then 25 MiB each (its defaults; Li et al.,
/// VLDB 2020, 4.2). At most about a thousand: larger ones stand for many.
[[nodiscard]] std::vector<double> ddp_buckets(double bytes);

/// What the backward pass does not hide of all-reduces one after the other: gradients become ready evenly over
/// `backward_s`, a bucket is reduced (in `all_reduce_s` of its bytes) once it is full and the one before is done. For k
/// equal buckets of A together this is max(A/k, A - backward (k - 1)/k).
[[nodiscard]] double exposed_s(const std::vector<double>& buckets, double backward_s,
                               const std::function<double(double bytes)>& all_reduce_s);

/// Expected largest of `n` independent standard normal values: 0.564 for 2, 2.344 for 64. A step of ranks that wait for
/// each other takes its mean plus so many standard deviations.
[[nodiscard]] double expected_largest(double n);

/// Share of the data set that is moved each epoch so that every learner trains on as many samples as the others, where
/// each trains on what it holds: sqrt((1 - 1/p) / (2 pi n)) for p learners with n samples of each batch (Yang & Cong,
/// HiPC 2019, who measured 6.9, 4.8 and 3.4 % for n = 32, 64, 128).
[[nodiscard]] double balancing_share(double learners, double samples);

/// Where the bytes of an epoch come from, as shares that add up to 1.
struct Sources {
  double local = 0.0;
  double remote = 0.0;  ///< another node's memory
  double storage = 0.0;
};

/// Each of `nodes` keeps another `x` of the data set, together at most all of it; a sample may be needed anywhere
/// (CoorDL's partitioned cache; Mohan et al., VLDB 2021).
[[nodiscard]] Sources partitioned(double x, int nodes);

/// The same cache, where each learner trains on what its node holds: only the balancing crosses the network
/// (Yang & Cong, eq. 8).
[[nodiscard]] Sources locality(double x, int nodes, double learners, double samples);

}  // namespace stallcast::cluster
