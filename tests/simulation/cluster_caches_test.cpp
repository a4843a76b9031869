/// The caches of the cluster simulation, against the closed forms of the model and by what they must do in any case.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "model/analytic/cache.hpp"
#include "model/analytic/cluster.hpp"
#include "simulation/cluster.hpp"

namespace stallcast::simulation {
namespace {

/// A job of which only the reads matter: `items` samples, all read once an epoch, in batches of 4 a rank.
Cluster reader(int nodes, int ranks_per_node, std::uint32_t items, Caching policy, double x, int epochs) {
  constexpr std::uint32_t k_batch = 4;
  Cluster cluster;
  cluster.nodes = nodes;
  cluster.ranks_per_node = ranks_per_node;
  cluster.loader = {2, 2, true};
  cluster.work = {{.read_s = 0.004, .cpu_s = 0.002, .other_s = 0.0}};
  cluster.step_s = {0.001};
  const auto ranks = static_cast<std::uint32_t>(nodes * ranks_per_node);
  cluster.steps = items / (ranks * k_batch);
  cluster.epochs = epochs;
  cluster.samples_per_batch = k_batch;
  cluster.order.items = items;
  cluster.order.items_per_batch = k_batch;
  cluster.caches = {policy, static_cast<std::uint32_t>(std::lround(x * items)), 0.5};
  cluster.seed = 3;
  return cluster;
}

/// Share that was not read from storage, mean of the last `last` epochs.
double hits(const ClusterRun& run, std::size_t last) {
  double sum = 0.0;
  for (std::size_t i = run.epochs.size() - last; i < run.epochs.size(); ++i) sum += 1.0 - run.epochs[i].from.storage;
  return sum / static_cast<double>(last);
}

TEST_CASE("caches of one node hit what the closed forms say, and nothing in the first epoch") {
  for (const double x : {0.2, 0.5, 0.8}) {
    CAPTURE(x);
    const auto steady = [x](Caching policy) {
      const ClusterRun run = run_cluster(reader(1, 2, 8000, policy, x, 24));
      CHECK(run.epochs[0].from.storage == 1.0);
      return hits(run, 16);
    };
    CHECK(std::abs(steady(Caching::minio) - hit_minio(x)) < 1e-4);
    CHECK(std::abs(steady(Caching::lru) - hit_lru(x)) < 0.01);
    CHECK(std::abs(steady(Caching::random) - hit_random(x)) < 0.01);
    CHECK(std::abs(steady(Caching::page_cache) - 0.5 * (hit_lru(x) + hit_random(x))) < 0.01);
  }
}

TEST_CASE("the same of nodes that each read another part each epoch") {
  for (const int nodes : {2, 4}) {
    for (const double x : {0.3, 0.6}) {
      CAPTURE(nodes);
      CAPTURE(x);
      const auto steady = [nodes, x](Caching policy) {
        return hits(run_cluster(reader(nodes, 1, 8000, policy, x, 40)), 20);
      };
      CHECK(std::abs(steady(Caching::lru) - hit_lru_shards(x, nodes)) < 0.01);
      CHECK(std::abs(steady(Caching::random) - hit_random_shards(x, nodes)) < 0.01);
    }
  }
}

TEST_CASE("a cache that keeps what comes first is warm after one epoch on one node, and later on several") {
  const ClusterRun one = run_cluster(reader(1, 2, 8000, Caching::minio, 0.5, 3));
  CHECK(one.epochs[1].from.storage == doctest::Approx(0.5));
  // On 4 nodes each reads a quarter: after e epochs it has seen 1 - (3/4)^e of the data, which is what it can hit.
  const ClusterRun four = run_cluster(reader(4, 1, 8000, Caching::minio, 1.0, 6));
  for (std::size_t e = 0; e < four.epochs.size(); ++e) {
    CHECK(std::abs(four.epochs[e].from.storage - std::pow(0.75, static_cast<double>(e))) < 0.015);
  }
}

TEST_CASE("a partitioned cache and one that is trained on by place serve the shares of the closed forms") {
  for (const double x : {0.1, 0.25}) {
    CAPTURE(x);
    const EpochRun partitioned = run_cluster(reader(4, 1, 16'000, Caching::partitioned, x, 3)).epochs[2];
    const auto wanted = cluster::partitioned(x, 4);
    CHECK(std::abs(partitioned.from.storage - wanted.storage) < 0.01);
    CHECK(std::abs(partitioned.from.remote - wanted.remote) < 0.01);
    CHECK(std::abs(partitioned.from.local - wanted.local) < 0.01);
    // Every sample in some memory, so all that crosses the network is balancing: 4 samples a learner.
    if (x < 0.25) continue;
    Cluster by_place = reader(16, 1, 16'000, Caching::locality, 1.0 / 16.0, 3);
    by_place.order.items_per_batch = 32;
    by_place.samples_per_batch = 32.0;
    by_place.steps = 16'000 / (16 * 32);
    by_place.epochs = 12;
    double moved = 0.0;
    const ClusterRun run = run_cluster(by_place);
    for (std::size_t e = 1; e < run.epochs.size(); ++e) moved += run.epochs[e].from.remote / 11.0;
    CHECK(std::abs(moved - cluster::balancing_share(16.0, 32.0)) < 0.003);
    CHECK(run.epochs[5].from.storage == 0.0);
  }
}

TEST_CASE("what comes from other nodes is bound by the links") {
  Cluster cluster = reader(4, 1, 16'000, Caching::partitioned, 0.25, 2);
  cluster.link_s = 0.01;
  const EpochRun warm = run_cluster(cluster).epochs[1];
  CHECK(warm.binding == Resource::network);
  const double received = warm.from.remote * 4000.0 * 0.01;  // of each node
  CHECK(warm.duration_s > received);
  CHECK(warm.duration_s < 1.25 * received);  // links are busy in bunches
}

TEST_CASE("losing a node's cache brings its part back from storage, once") {
  for (const Caching policy : {Caching::partitioned, Caching::locality, Caching::minio}) {
    const double x = policy == Caching::minio ? 1.0 : 0.25;
    Cluster cluster = reader(4, 1, 16'000, policy, x, 8);
    const ClusterRun whole = run_cluster(cluster);
    cluster.losses = {{5, 0, 2, 30.0}};
    const ClusterRun run = run_cluster(cluster);
    CAPTURE(static_cast<int>(policy));
    CHECK(run.epochs[4].from.storage == whole.epochs[4].from.storage);
    const double lost = run.epochs[5].from.storage - whole.epochs[5].from.storage;
    if (policy == Caching::minio) {
      // Its quarter of the epoch's reads, of which it had seen most.
      CHECK(lost == doctest::Approx(0.25 - whole.epochs[5].from.storage / 4.0).epsilon(0.02));
    } else {
      CHECK(whole.epochs[5].from.storage == 0.0);
      CHECK(lost == doctest::Approx(0.25).epsilon(0.02));
      // By place, what a node reads that is full is not kept, and comes from storage again.
      CHECK(run.epochs[6].from.storage < (policy == Caching::locality ? 0.06 : 1e-9));
      CHECK(run.epochs[7].from.storage < 0.02);
      CHECK(run.epochs[6].from.local == doctest::Approx(whole.epochs[6].from.local).epsilon(0.05));
    }
    CHECK(run.epochs[5].duration_s > whole.epochs[5].duration_s + 30.0);
    CHECK(run.epochs[4].duration_s == whole.epochs[4].duration_s);
  }
}

TEST_CASE("a recorded sequence is replayed") {
  Cluster cluster = reader(1, 1, 400, Caching::lru, 0.5, 3);
  // In the order of numbers, epoch after epoch, LRU never hits and MinIO hits what came first.
  cluster.order.recorded.resize(400);
  std::iota(cluster.order.recorded.begin(), cluster.order.recorded.end(), 0U);
  CHECK(hits(run_cluster(cluster), 2) == 0.0);
  cluster.caches.policy = Caching::minio;
  CHECK(hits(run_cluster(cluster), 2) == 0.5);
  // Each item twice in a row: the second read hits, even in the first epoch.
  for (std::size_t i = 0; i < 400; ++i) cluster.order.recorded[i] = static_cast<std::uint32_t>(i / 2);
  cluster.caches = {Caching::lru, 1, 0.0};
  CHECK(run_cluster(cluster).epochs[0].from.storage == 0.5);
  // Two nodes take turns: neither sees an item twice within an epoch.
  cluster.nodes = 2;
  cluster.steps /= 2;
  CHECK(run_cluster(cluster).epochs[0].from.storage == 1.0);
}

TEST_CASE("groups of samples hit as often as single ones, and a batch's share varies no more") {
  Cluster single = reader(2, 2, 32'000, Caching::random, 0.5, 6);
  single.samples_per_batch = 64.0;
  single.order.items_per_batch = 64;
  single.steps = 32'000 / (4 * 64);
  single.work = {{.read_s = 1.0, .cpu_s = 0.0, .other_s = 0.0}};
  Cluster grouped = single;
  grouped.order.items = 2000;
  grouped.order.items_per_batch = 4;
  grouped.order.samples_per_item = 16.0;
  grouped.caches.room = 1000;
  const ClusterRun a = run_cluster(single);
  const ClusterRun b = run_cluster(grouped);
  CHECK(std::abs(hits(a, 3) - hits(b, 3)) < 0.02);
  CHECK(b.epochs[5].steps.mean_s == doctest::Approx(a.epochs[5].steps.mean_s).epsilon(0.03));
  // Unscaled, a batch of 4 items would vary four times as much as one of 64 and its slowest steps show it.
  CHECK(b.epochs[5].steps.p99_s == doctest::Approx(a.epochs[5].steps.p99_s).epsilon(0.1));
}

TEST_CASE("the memory that is announced grows with what is kept") {
  const Cluster small = reader(4, 2, 16'000, Caching::lru, 0.25, 3);
  Cluster large = small;
  large.order.items *= 1000;
  large.caches.room *= 1000;
  large.steps *= 1000;
  CHECK(memory_bytes(large) > 500.0 * memory_bytes(small));
  CHECK(memory_bytes(small) > 16'000.0 * 4.0);
}

}  // namespace
}  // namespace stallcast::simulation
