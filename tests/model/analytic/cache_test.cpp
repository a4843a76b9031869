#include "model/analytic/cache.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <list>
#include <numeric>
#include <random>
#include <unordered_map>
#include <vector>

namespace stallcast {
namespace {

enum class Policy { lru, random, keep_first };

/// Hit ratios of one cache over reads that each take a random 1/nodes of the items, simulated item by item: of so many
/// parts of an epoch.
std::vector<double> simulated_parts(Policy policy, double x, int nodes, std::size_t parts) {
  constexpr std::size_t k_items = 3000;
  constexpr int k_epochs = 40;
  constexpr int k_warm = 12;
  const auto room = static_cast<std::size_t>(x * k_items);
  std::mt19937 random(99);
  std::list<std::size_t> order;  // least recently used first
  std::unordered_map<std::size_t, std::list<std::size_t>::iterator> cached;
  std::vector<std::size_t> slots;  // of the random policy
  std::vector<std::size_t> items(k_items);
  std::iota(items.begin(), items.end(), std::size_t{0});
  const std::size_t epoch_reads = k_items / static_cast<std::size_t>(nodes);
  std::vector<double> hits(parts);
  std::vector<double> reads(parts);
  for (int epoch = 0; epoch < k_epochs; ++epoch) {
    std::shuffle(items.begin(), items.end(), random);
    for (std::size_t i = 0; i < epoch_reads; ++i) {
      const std::size_t part = i * parts / epoch_reads;
      const std::size_t item = items[i];
      const auto found = cached.find(item);
      if (epoch >= k_warm) {
        reads[part] += 1.0;
        hits[part] += found != cached.end() ? 1.0 : 0.0;
      }
      if (found != cached.end()) {
        if (policy == Policy::lru) order.splice(order.end(), order, found->second);
        continue;
      }
      if (cached.size() == room) {
        if (policy == Policy::keep_first) continue;
        const std::size_t slot = random() % room;
        const std::size_t out = policy == Policy::lru ? order.front() : slots[slot];
        if (policy == Policy::lru) order.pop_front();
        if (policy == Policy::random) slots[slot] = item;
        cached.erase(out);
      } else {
        slots.push_back(item);
      }
      if (policy == Policy::lru) order.push_back(item);
      cached[item] = policy == Policy::lru ? std::prev(order.end()) : order.end();
    }
  }
  for (std::size_t part = 0; part < parts; ++part) hits[part] /= reads[part];
  return hits;
}

double simulated(Policy policy, double x, int nodes) {
  return simulated_parts(policy, x, nodes, 1).front();
}

TEST_CASE("closed forms agree with caches simulated item by item") {
  for (const double x : {0.2, 0.35, 0.5, 0.65, 0.8, 0.95}) {
    CAPTURE(x);
    CHECK(hit_minio(x) == doctest::Approx(simulated(Policy::keep_first, x, 1)).epsilon(0.001));
    CHECK(std::abs(hit_lru(x) - simulated(Policy::lru, x, 1)) < 0.006);
    CHECK(std::abs(hit_random(x) - simulated(Policy::random, x, 1)) < 0.006);
  }
}

TEST_CASE("nodes that each read a random share of the data") {
  for (const int nodes : {2, 4}) {
    for (const double x : {0.3, 0.6}) {
      CAPTURE(nodes);
      CAPTURE(x);
      CHECK(std::abs(hit_lru_shards(x, nodes) - simulated(Policy::lru, x, nodes)) < 0.01);
      CHECK(std::abs(hit_random_shards(x, nodes) - simulated(Policy::random, x, nodes)) < 0.01);
    }
  }
  CHECK(hit_lru_shards(0.5, 1) == doctest::Approx(hit_lru(0.5)).epsilon(1e-4));
  CHECK(hit_lru_shards(0.4, 400) == doctest::Approx(0.4).epsilon(0.01));
  CHECK(hit_random_shards(0.4, 400) == doctest::Approx(0.4).epsilon(0.01));
}

TEST_CASE("hits fall over an epoch, as caches simulated item by item show") {
  constexpr std::size_t k_parts = 5;
  for (const int nodes : {1, 2}) {
    for (const double x : {0.35, 0.65, 0.8}) {
      const std::vector<double> lru = simulated_parts(Policy::lru, x, nodes, k_parts);
      const std::vector<double> random = simulated_parts(Policy::random, x, nodes, k_parts);
      const PageCacheEpoch epoch(x, nodes);
      double mean = 0.0;
      for (std::size_t part = 0; part < k_parts; ++part) {
        CAPTURE(nodes);
        CAPTURE(x);
        CAPTURE(part);
        HitBand band;
        for (int i = 0; i < 20; ++i) {
          const HitBand there = epoch.at((static_cast<double>(part) + (i + 0.5) / 20.0) / k_parts);
          band.low += there.low / 20.0;
          band.mean += there.mean / 20.0;
          band.high += there.high / 20.0;
        }
        CHECK(std::abs(band.low - lru[part]) < 0.015);
        CHECK(std::abs(band.high - random[part]) < 0.03);
        mean += band.mean / k_parts;
      }
      CHECK(std::abs(mean - hit_page_cache_shards(x, nodes).mean) < 0.002);
    }
  }
  CHECK(hit_lru_at(0.76, 1, 0.5) == doctest::Approx(1.0 - 0.24 / 0.5));
  CHECK(hit_lru_at(0.76, 1, 0.8) == 0.0);
}

TEST_CASE("the page cache lies in its band and near what Linux was measured to do") {
  const std::pair<double, double> measured[] = {{0.25, 0.071}, {0.5, 0.215}, {0.65, 0.363}, {0.8, 0.591}, {0.9, 0.755}};
  for (const auto& [cached, seen] : measured) {
    const double x = cached;  // clang 14 does not capture bindings
    const double hit = seen;
    const HitBand band = hit_page_cache(x);
    CAPTURE(x);
    CHECK(band.low == hit_lru(x));
    CHECK(band.high == hit_random(x));
    CHECK(std::abs(band.mean - hit) < 0.02);
    CHECK(band.low <= band.mean);
    CHECK(band.mean <= band.high);
  }
}

TEST_CASE("nothing cached hits nothing, everything cached hits always, and more never hits less") {
  for (const auto policy : {hit_minio, hit_lru, hit_random}) {
    CHECK(policy(0.0) == 0.0);
    CHECK(policy(1.0) == 1.0);
    double before = 0.0;
    for (int i = 1; i <= 100; ++i) {
      const double hit = policy(0.01 * i);
      CHECK(hit >= before);
      CHECK(hit <= 0.01 * i + 1e-12);
      before = hit;
    }
  }
  double before = 0.0;
  for (int i = 0; i <= 200; ++i) {
    CHECK(hit_page_cache(0.005 * i).mean >= before);
    before = hit_page_cache(0.005 * i).mean;
  }
}

}  // namespace
}  // namespace stallcast
