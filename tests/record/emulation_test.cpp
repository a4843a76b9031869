/// The emulated storage itself: hit ratios against the closed forms, clocks in virtual time.
#include "probes/record/emulation.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "model/analytic/cache.hpp"

namespace stallcast::record {
namespace {

/// A block in plain memory with room for `units` units.
class Storage {
 public:
  explicit Storage(EmulationSettings settings, std::uint32_t units = 1U << 13U) {
    settings.most_units = units;
    settings.index_entries = 2 * units;
    settings.log_entries = 2 * units;
    memory_.resize((emulation_bytes(settings) + 63) / 64);
    block_ = new (memory_.data()) EmulationBlock{};
    block_->settings = settings;
  }

  EmulationBlock& operator*() { return *block_; }
  EmulationBlock* operator->() { return block_; }

 private:
  struct alignas(64) Line {
    char bytes[64];
  };
  std::vector<Line> memory_{};
  EmulationBlock* block_ = nullptr;
};

EmulationSettings share(EmulatedPolicy policy, double x) {
  EmulationSettings settings{};
  settings.policy = policy;
  settings.cache_share = x;
  if (policy == EmulatedPolicy::lru) settings.first_hit_share = hit_lru(x);
  if (policy == EmulatedPolicy::random) settings.first_hit_share = hit_random(x);
  return settings;
}

struct Files {
  std::vector<std::uint64_t> bytes{};
  std::vector<std::uint32_t> order{};
  std::mt19937_64 random{7};

  explicit Files(std::size_t count, bool alike) {
    std::lognormal_distribution<double> sizes(11.0, alike ? 0.0 : 0.7);
    for (std::size_t i = 0; i < count; ++i) bytes.push_back(static_cast<std::uint64_t>(sizes(random)) + 1);
    order.resize(count);
    std::iota(order.begin(), order.end(), 0U);
  }

  /// Reads every file once in a fresh order; the share of the bytes that hit.
  double epoch(EmulationBlock& block) {
    std::shuffle(order.begin(), order.end(), random);
    double hit = 0.0;
    for (const std::uint32_t file : order) {
      if (emulated_hit(block, 0x1234567890abcdefULL * (file + 1), bytes[file])) hit += static_cast<double>(bytes[file]);
    }
    return hit / std::accumulate(bytes.begin(), bytes.end(), 0.0);
  }
};

double mean_hits(Storage& storage, Files& files, int epochs) {
  double sum = 0.0;
  for (int i = 0; i < epochs; ++i) sum += files.epoch(*storage);
  return sum / epochs;
}

TEST_CASE("a MinIO cache of a share hits that share in every epoch, also the first, whatever the sizes") {
  for (const bool alike : {true, false}) {
    for (const double x : {0.0, 0.1, 0.35, 0.5, 0.7, 1.0}) {
      CAPTURE(x);
      Storage storage(share(EmulatedPolicy::minio, x));
      Files files(500, alike);
      for (int epoch = 0; epoch < 3; ++epoch) CHECK(std::abs(files.epoch(*storage) - hit_minio(x)) < 0.01);
    }
  }
}

TEST_CASE("a MinIO cache of a size keeps what was read first") {
  EmulationSettings settings{};
  settings.policy = EmulatedPolicy::minio;
  settings.cache_share = -1.0;
  settings.cache_bytes = 1000;
  Storage storage(settings);
  for (std::uint64_t file = 1; file <= 20; ++file) CHECK(!emulated_hit(*storage, file, 100));
  for (std::uint64_t file = 1; file <= 20; ++file) CHECK(emulated_hit(*storage, file, 100) == (file <= 10));
  CHECK(storage->cached_bytes.load() == 1000);
}

TEST_CASE("LRU and random replacement come within 0.01 of their closed forms over epochs of fresh permutations") {
  constexpr int k_epochs = 12;
  for (const double x : {0.25, 0.5, 0.8}) {
    CAPTURE(x);
    Files files(4000, true);
    Storage lru(share(EmulatedPolicy::lru, x));
    CHECK(std::abs(mean_hits(lru, files, k_epochs) - hit_lru(x)) < 0.01);
    Storage random(share(EmulatedPolicy::random, x));
    mean_hits(random, files, 4);  // until its ages have settled
    CHECK(std::abs(mean_hits(random, files, k_epochs) - hit_random(x)) < 0.01);
  }
}

TEST_CASE("LRU under a cyclic order hits nothing, and everything where all of it fits") {
  for (const std::uint64_t room : {99U, 100U}) {
    EmulationSettings settings{};
    settings.policy = EmulatedPolicy::lru;
    settings.cache_share = -1.0;
    settings.cache_bytes = room * 10;
    Storage storage(settings, 256);
    int hits = 0;
    for (int epoch = 0; epoch < 30; ++epoch) {
      for (std::uint64_t file = 1; file <= 100; ++file) hits += emulated_hit(*storage, file, 10) ? 1 : 0;
    }
    CHECK(hits == (room == 100 ? 2900 : 0));
    CHECK(storage->cached_bytes.load() <= static_cast<std::int64_t>(room) * 10);
  }
}

TEST_CASE("processes may ask at once: nothing is lost of the cache's accounts") {
  for (const EmulatedPolicy policy : {EmulatedPolicy::minio, EmulatedPolicy::lru, EmulatedPolicy::random}) {
    Storage storage(share(policy, 0.4));
    std::vector<std::thread> readers;
    for (unsigned reader = 0; reader < 4; ++reader) {
      readers.emplace_back([&storage, reader] {
        std::mt19937_64 random(reader);
        for (int i = 0; i < 20'000; ++i) emulated_hit(*storage, 1 + random() % 1000, 50);
      });
    }
    for (std::thread& reader : readers) reader.join();
    CHECK(storage->seen_bytes.load() == 50'000);
    CHECK(storage->cached_bytes.load() >= 19'000);
    CHECK(storage->cached_bytes.load() <= 21'000);
    CHECK(storage->counters.untracked_misses.load() == 0);
  }
}

TEST_CASE("units beyond the table miss and are counted; MinIO goes on by chance") {
  Storage lru(share(EmulatedPolicy::lru, 1.0), 64);
  for (std::uint64_t file = 1; file <= 200; ++file) emulated_hit(*lru, file, 10);
  CHECK(lru->counters.untracked_misses.load() == 136);
  Storage minio(share(EmulatedPolicy::minio, 0.5), 64);
  int hits = 0;
  for (std::uint64_t file = 1; file <= 4000; ++file) hits += emulated_hit(*minio, file, 10) ? 1 : 0;
  CHECK(std::abs(hits - 2000) < 150);
}

constexpr std::uint64_t k_ms = 1'000'000;

TEST_CASE("reads together get the bandwidth, after one burst, and an idle storage saves no more than that") {
  EmulationSettings settings{};
  settings.ns_per_byte = 50.0;  // 20 MB/s
  Storage storage(settings);
  const std::uint64_t begin = 5'000 * k_ms;
  CHECK(emulated_due(*storage, begin, 2'000'000, 1) == begin);
  CHECK(emulated_due(*storage, begin, 2'000'000, 1) == begin + 100 * k_ms);
  CHECK(emulated_due(*storage, begin, 2'000'000, 1) == begin + 200 * k_ms);
  const std::uint64_t later = begin + 60'000 * k_ms;
  CHECK(emulated_due(*storage, later, 2'000'000, 1) == later);
  CHECK(emulated_due(*storage, later, 1'000'000, 1) == later + 50 * k_ms);
}

TEST_CASE("of two limits the tighter one counts, and both go on") {
  EmulationSettings settings{};
  settings.ns_per_byte = 50.0;
  settings.ns_per_request = 10.0 * k_ms;
  Storage storage(settings);
  const std::uint64_t begin = 5'000 * k_ms;
  CHECK(emulated_due(*storage, begin, 4096, 30) == begin + 200 * k_ms);
  CHECK(emulated_due(*storage, begin, 10'000'000 - 4096, 1) == begin + 400 * k_ms);
  Storage unlimited(EmulationSettings{});
  CHECK(emulated_due(*unlimited, begin, 1ULL << 40U, 1000) == begin);
}

}  // namespace
}  // namespace stallcast::record
