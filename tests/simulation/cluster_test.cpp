/// The cluster simulation against the recursion of one rank and against arithmetic that can be done by hand.
#include "simulation/cluster.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "model/analytic/cluster.hpp"
#include "simulation/loader.hpp"

namespace stallcast::simulation {
namespace {

double uniform(std::mt19937_64& random, double low, double high) {
  return low + (high - low) * static_cast<double>(random() >> 11) / 9007199254740992.0;
}

/// Batches of `making` s and steps of 1 s on average, both by a uniform distribution of relative half width `spread`.
Cluster varied(std::uint64_t seed, double making, double spread, std::size_t values = 500) {
  std::mt19937_64 random(seed);
  Cluster cluster;
  cluster.work.clear();
  for (std::size_t i = 0; i < values; ++i) {
    const double all = making * uniform(random, 1.0 - spread, 1.0 + spread);
    cluster.work.push_back({.read_s = 0.3 * all, .cpu_s = 0.6 * all, .other_s = 0.1 * all});
    cluster.step_s.push_back(uniform(random, 1.0 - spread, 1.0 + spread));
  }
  cluster.seed = seed;
  return cluster;
}

bool same(const ClusterRun& a, const ClusterRun& b) {
  return a.step_end_s == b.step_end_s && a.rank_waiting == b.rank_waiting &&
         std::equal(a.epochs.begin(), a.epochs.end(), b.epochs.begin(), b.epochs.end(),
                    [](const EpochRun& x, const EpochRun& y) {
                      return x.duration_s == y.duration_s && x.from.storage == y.from.storage &&
                             x.steps.p99_s == y.steps.p99_s && x.busy == y.busy;
                    });
}

TEST_CASE("one rank without caches is the recursion of the loader, to the last bit") {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 60; ++trial) {
    const int workers = 1 + trial % 5;
    Cluster cluster = varied(random(), uniform(random, 0.3, 2.0) * workers, 0.8, 300);
    cluster.loader = {workers, 1 + trial % 3, true};
    cluster.steps = 300;
    cluster.in_turn = true;
    std::vector<StepWork> steps;
    for (const double step : cluster.step_s) steps.push_back({step, 0.0});
    const LoaderRun truth = run_loader(cluster.loader, cluster.work, steps);
    const ClusterRun run = run_cluster(cluster);
    CAPTURE(trial);
    REQUIRE(run.step_end_s.size() == 300);
    CHECK(run.epochs[0].duration_s == truth.end_s);
    for (std::size_t i = 0; i < 300; ++i) CHECK(run.step_end_s[i] == truth.delivered_s[i] + cluster.step_s[i]);
    const double waited = std::accumulate(truth.wait_s.begin(), truth.wait_s.end(), 0.0);
    CHECK(run.epochs[0].waiting_frac * truth.end_s == doctest::Approx(waited).epsilon(1e-9));
  }
}

TEST_CASE("without workers everything adds up") {
  Cluster cluster = varied(3, 2.0, 0.5, 50);
  cluster.loader.workers = 0;
  cluster.steps = 50;
  cluster.in_turn = true;
  std::vector<StepWork> steps;
  for (const double step : cluster.step_s) steps.push_back({step, 0.0});
  const double end = run_loader(cluster.loader, cluster.work, steps).end_s;
  CHECK(run_cluster(cluster).epochs[0].duration_s == doctest::Approx(end).epsilon(1e-12));
  // Two ranks, each with its own batches: a step takes what the slower of the two takes.
  cluster.nodes = 2;
  cluster.in_turn = false;
  const ClusterRun two = run_cluster(cluster);
  CHECK(two.epochs[0].duration_s > end * 1.05);
  CHECK(two.epochs[0].straggling_frac > 0.05);
}

TEST_CASE("the worked example of the header") {
  Cluster cluster;
  cluster.nodes = 2;
  cluster.loader = {1, 1, true};
  cluster.steps = 2;
  cluster.work = {{.read_s = 1.0, .cpu_s = 0.0, .other_s = 0.0}};
  cluster.step_s = {1.0};
  cluster.shared_s = 1.0;
  CHECK(run_cluster(cluster).step_end_s == std::vector<double>{3.0, 5.0});
}

TEST_CASE("each epoch begins with empty queues") {
  Cluster cluster;
  cluster.loader = {2, 2, true};
  cluster.work = {{.read_s = 0.0, .cpu_s = 1.5, .other_s = 0.0}};
  cluster.step_s = {1.0};
  cluster.steps = 100;
  cluster.epochs = 3;
  const ClusterRun run = run_cluster(cluster);
  for (const EpochRun& epoch : run.epochs) {
    CHECK(epoch.duration_s == doctest::Approx(1.5 + 100.0));
    CHECK(epoch.steps.p99_s == doctest::Approx(1.0));  // the filling is not a step's time
    CHECK(epoch.binding == Resource::step);
  }
}

TEST_CASE("a step takes as long as the largest of independent steps") {
  constexpr int k_values = 4001;
  Cluster cluster;
  cluster.work = {BatchWork{}};
  cluster.loader = {2, 2, true};
  // Quantiles of a normal distribution of mean 1 and deviation 0.05, as sums of twelve uniform values would be.
  std::mt19937_64 random(5);
  double sum = 0.0;
  double squares = 0.0;
  for (int i = 0; i < k_values; ++i) {
    double normal = -6.0;
    for (int k = 0; k < 12; ++k) normal += uniform(random, 0.0, 1.0);
    cluster.step_s.push_back(1.0 + 0.05 * normal);
    sum += cluster.step_s.back();
    squares += cluster.step_s.back() * cluster.step_s.back();
  }
  const double mean = sum / k_values;
  const double deviation = std::sqrt(squares / k_values - mean * mean);
  cluster.steps = 4000;
  for (const int ranks : {1, 2, 8, 64}) {
    cluster.nodes = ranks;
    const double expected = mean + deviation * cluster::expected_largest(ranks);
    CAPTURE(ranks);
    CHECK(run_cluster(cluster).epochs[0].steps.mean_s == doctest::Approx(expected).epsilon(0.004));
  }
}

TEST_CASE("prefetching evens out what loading varies, and not a node that is slow") {
  Cluster cluster = varied(7, 2.4, 0.5);
  cluster.loader = {4, 4, true};
  cluster.step_s = {1.0};
  cluster.steps = 2000;
  cluster.nodes = 16;
  const double even = run_cluster(cluster).epochs[0].steps.mean_s;
  CHECK(even < 1.01);
  cluster.node_slow.assign(16, 1.0);
  cluster.node_slow[5] = 1.2;
  const ClusterRun run = run_cluster(cluster);
  CHECK(run.epochs[0].steps.mean_s == doctest::Approx(1.2).epsilon(0.01));
  CHECK(run.nodes[5].last_frac > 0.99);
  CHECK(run.epochs[0].straggling_frac == doctest::Approx(15.0 / 16.0 * 0.2 / 1.2).epsilon(0.03));
}

TEST_CASE("an exchange is added to each step") {
  Cluster cluster = varied(8, 1.0, 0.3);
  cluster.loader = {4, 2, true};
  cluster.steps = 400;
  const double without = run_cluster(cluster).epochs[0].duration_s;
  cluster.exchange_s = 2.0;
  const EpochRun with = run_cluster(cluster).epochs[0];
  CHECK(with.duration_s == doctest::Approx(without + 800.0).epsilon(1e-3));
  CHECK(with.binding == Resource::exchange);
}

TEST_CASE("starved by shared storage, a run takes its bytes or its files over the ceiling, exactly") {
  Cluster cluster = varied(9, 0.1, 0.2);
  for (BatchWork& work : cluster.work) work = {};
  cluster.step_s = {0.5};
  cluster.loader = {4, 2, true};
  cluster.nodes = 8;
  cluster.ranks_per_node = 2;
  cluster.steps = 500;
  cluster.samples_per_batch = 32.0;
  cluster.storage_share = 0.25;
  const double samples = 0.25 * 32.0 * 16.0 * 500.0;
  cluster.shared_s = 0.1;
  const EpochRun by_bytes = run_cluster(cluster).epochs[0];
  CHECK(by_bytes.duration_s == doctest::Approx(samples * 0.1 + 0.5).epsilon(1e-9));
  CHECK(by_bytes.binding == Resource::shared_storage);
  // Opening what is read: as often. Opening what is in memory too: four times as often.
  cluster.shared_s = 0.0;
  cluster.open_s = 0.2;
  const EpochRun by_opens = run_cluster(cluster).epochs[0];
  CHECK(by_opens.duration_s == doctest::Approx(samples * 0.2 + 0.5).epsilon(1e-9));
  CHECK(by_opens.binding == Resource::shared_metadata);
  cluster.opens_cached = true;
  CHECK(run_cluster(cluster).epochs[0].duration_s == doctest::Approx(4.0 * samples * 0.2 + 0.5).epsilon(1e-9));
  // Each node its own: half of the ranks wait for each other, and the nodes take the same time side by side.
  cluster.open_s = 0.0;
  cluster.node_storage_s = 0.2;
  const EpochRun own = run_cluster(cluster).epochs[0];
  CHECK(own.duration_s == doctest::Approx(samples / 8.0 * 0.2 + 0.5).epsilon(1e-9));
  CHECK(own.binding == Resource::node_storage);
}

TEST_CASE("faster storage is never slower, nor is a cache that keeps more of what it has once kept") {
  std::mt19937_64 random(10);
  for (int trial = 0; trial < 25; ++trial) {
    const int workers = 1 + trial % 4;
    Cluster cluster = varied(random(), 1.2 * workers, 0.6);
    cluster.loader = {workers, 2, true};
    cluster.nodes = 1 + trial % 3;
    cluster.ranks_per_node = 1 + trial % 2;
    cluster.steps = 200;
    cluster.epochs = 2;
    cluster.samples_per_batch = 4.0;
    const auto batches = static_cast<std::uint32_t>(200 * cluster.nodes * cluster.ranks_per_node);
    cluster.order = {4 * batches, 4, 1.0, {}};
    cluster.caches = {Caching::minio, batches, 0.0};
    CAPTURE(trial);
    const double demand = 4.0 * cluster.nodes * cluster.ranks_per_node;
    double before = 1e300;
    for (const double speed : {0.3, 0.8, 1.2, 2.0, 100.0}) {
      cluster.shared_s = 1.0 / (demand * speed);
      const double end = run_cluster(cluster).step_end_s.back();
      CHECK(end <= before * (1.0 + 1e-3));  // who is served first may change, and with it who waits
      before = end;
    }
    cluster.shared_s = 0.0;
    before = 1e300;
    for (const double share : {0.0, 0.2, 0.5, 0.8, 1.0}) {
      cluster.caches.room = static_cast<std::uint32_t>(share * cluster.order.items);
      const double end = run_cluster(cluster).step_end_s.back();
      CHECK(end <= before * (1.0 + 1e-12));
      before = end;
    }
  }
}

TEST_CASE("the same seed gives the same run, another seed another one") {
  Cluster cluster = varied(11, 3.0, 0.6);
  cluster.loader = {3, 2, true};
  cluster.nodes = 3;
  cluster.ranks_per_node = 2;
  cluster.steps = 200;
  cluster.epochs = 3;
  cluster.samples_per_batch = 8.0;
  cluster.shared_s = 1.0 / 60.0;
  cluster.remote_s = 0.01;
  cluster.link_s = 0.02;
  cluster.order = {9600, 8, 1.0, {}};
  for (const Caching policy : {Caching::none, Caching::lru, Caching::random, Caching::page_cache, Caching::minio,
                               Caching::partitioned, Caching::locality}) {
    cluster.caches = {policy, 1500, 0.5};
    cluster.seed = 1;
    const ClusterRun once = run_cluster(cluster);
    CHECK(same(once, run_cluster(cluster)));
    cluster.seed = 2;
    CHECK_FALSE(same(once, run_cluster(cluster)));
  }
}

TEST_CASE("draws are the same on every machine") {
  Cluster cluster = varied(1, 1.0, 0.5);
  cluster.work = {BatchWork{}, BatchWork{.read_s = 0.0, .cpu_s = 64.0, .other_s = 0.0}};
  cluster.step_s = {1.0, 2.0, 4.0, 8.0};
  cluster.loader = {1, 1, true};
  cluster.nodes = 2;
  cluster.steps = 12;
  cluster.seed = 42;
  // Whole numbers, which no rounding can change; worked out by hand in another language.
  constexpr double k_ends[] = {4, 5, 13, 21, 79, 87, 91, 153, 217, 281, 345, 409};
  const ClusterRun run = run_cluster(cluster);
  for (std::size_t i = 0; i < cluster.steps; ++i) CHECK(run.step_end_s[i] == k_ends[i]);
}

}  // namespace
}  // namespace stallcast::simulation
