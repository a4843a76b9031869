#include "model/analytic/cluster.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

using namespace stallcast;
using namespace stallcast::cluster;

namespace {

TEST_CASE("collectives: the worked example, and what each form is good for") {
  const Link link{12.5e9, 0.0};
  CHECK(ring_s(8, 102e6, link) == doctest::Approx(0.01428).epsilon(0.001));
  const auto ring = [&](double bytes) { return ring_s(8, bytes, link); };
  CHECK(exposed_s(ddp_buckets(102e6), 0.1, ring) == doctest::Approx(0.00312).epsilon(0.002));
  CHECK(ring_s(1, 102e6, link) == 0.0);
  CHECK(tree_s(1, 102e6, link) == 0.0);
  const Link slow{12.5e9, 20e-6};
  CHECK(ring_s(4, 1e9, slow) < tree_s(4, 1e9, slow));        // large messages, few nodes
  CHECK(tree_s(1024, 1e6, slow) < ring_s(1024, 1e6, slow));  // small ones, many nodes
}

TEST_CASE("equal buckets: what backward does not hide has a closed form") {
  for (const double all_reduce : {0.0, 0.01, 0.09, 0.1, 0.3, 2.0}) {
    for (const int k : {1, 2, 5, 40}) {
      CAPTURE(all_reduce);
      CAPTURE(k);
      const std::vector<double> buckets(static_cast<std::size_t>(k), 7.0);
      const double exposed = exposed_s(buckets, 0.1, [&](double bytes) { return all_reduce * bytes / (7.0 * k); });
      CHECK(exposed == doctest::Approx(std::max(all_reduce / k, all_reduce - 0.1 * (k - 1.0) / k)));
    }
  }
  CHECK(exposed_s({}, 0.1, [](double) { return 1.0; }) == 0.0);
}

TEST_CASE("buckets as DistributedDataParallel makes them") {
  constexpr double mib = 1 << 20;
  CHECK(ddp_buckets(0.0).empty());
  CHECK(ddp_buckets(0.5 * mib) == std::vector<double>{0.5 * mib});
  CHECK(ddp_buckets(30.0 * mib) == std::vector<double>{mib, 25.0 * mib, 4.0 * mib});
  const std::vector<double> many = ddp_buckets(1e12);
  CHECK(many.size() <= 1002);
  CHECK(std::accumulate(many.begin(), many.end(), 0.0) == doctest::Approx(1e12));
}

TEST_CASE("the largest of n: published values, and those drawn") {
  constexpr std::array<double, 10> k_published{0.564, 1.029, 1.424, 1.766, 2.070, 2.344, 2.595, 2.827, 3.044, 3.248};
  double n = 2.0;
  for (const double largest : k_published) {
    CAPTURE(n);
    CHECK(std::abs(expected_largest(n) - largest) < 0.001);
    n *= 2.0;
  }
  CHECK(expected_largest(1.0) == 0.0);
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  double sum = 0.0;
  constexpr int k_draws = 20'000;
  for (int draw = 0; draw < k_draws; ++draw) {
    double largest = -1e9;
    for (int i = 0; i < 12; ++i) largest = std::max(largest, normal(random));
    sum += largest;
  }
  CHECK(expected_largest(12.0) == doctest::Approx(sum / k_draws).epsilon(0.01));
}

/// Samples that must move so that all learners have as many of a global batch, as a share of it, averaged over batches.
double played_balancing(int learners, int samples, std::mt19937_64& random) {
  constexpr int k_batches = 400;
  double moved = 0.0;
  for (int batch = 0; batch < k_batches; ++batch) {
    std::vector<int> held(static_cast<std::size_t>(learners), 0);
    for (int i = 0; i < learners * samples; ++i) ++held[random() % held.size()];
    for (const int count : held) moved += std::max(0, count - samples);
  }
  return moved / (static_cast<double>(k_batches) * learners * samples);
}

TEST_CASE("balancing traffic: published medians, and a simulation") {
  CHECK(balancing_share(1024.0, 32.0) == doctest::Approx(0.070).epsilon(0.01));
  CHECK(balancing_share(1024.0, 128.0) == doctest::Approx(0.035).epsilon(0.01));
  CHECK(balancing_share(1.0, 32.0) == 0.0);
  std::mt19937_64 random(5);
  for (const auto& [learners, samples] : {std::pair{4, 32}, std::pair{16, 64}, std::pair{64, 16}}) {
    CAPTURE(learners);
    CHECK(balancing_share(learners, samples) ==
          doctest::Approx(played_balancing(learners, samples, random)).epsilon(0.04));
  }
}

TEST_CASE("caches that hold together: shares add up, and together they hold no more than everything") {
  for (const double x : {0.0, 0.1, 0.35, 1.0}) {
    for (const int nodes : {1, 2, 8}) {
      for (const Sources& from : {partitioned(x, nodes), locality(x, nodes, 4.0 * nodes, 32.0)}) {
        CHECK(from.local + from.remote + from.storage == doctest::Approx(1.0));
        CHECK(from.storage == doctest::Approx(1.0 - std::min(1.0, x * nodes)));
        CHECK(from.remote >= 0.0);
      }
    }
  }
  CHECK(partitioned(0.35, 1).remote == 0.0);
  CHECK(partitioned(0.25, 2).local == doctest::Approx(0.25));
  CHECK(partitioned(0.25, 2).remote == doctest::Approx(0.25));
  CHECK(locality(0.5, 2, 8.0, 32.0).remote < partitioned(0.5, 2).remote);
}

}  // namespace
