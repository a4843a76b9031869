#include "probes/record/emulation.hpp"

#include <algorithm>

namespace stallcast::record {
namespace {

constexpr auto k_relaxed = std::memory_order_relaxed;
constexpr std::uint32_t k_probes = 64;
constexpr std::uint32_t k_most_tries = 1U << 16;  ///< for a random victim

enum MinioState : std::uint64_t { k_undecided = 0, k_kept = 1, k_refused = 2 };

/// splitmix64 (public domain, Sebastiano Vigna).
std::uint64_t scrambled(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15ULL;
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31U);
}

/// The same for one unit in every run, evenly spread over [0, 1).
double chance(std::uint64_t key) {
  return static_cast<double>(scrambled(key) >> 11U) * 0x1p-53;
}

double capacity(const EmulationBlock& block) {
  const EmulationSettings& settings = block.settings;
  if (settings.cache_share < 0.0) return static_cast<double>(settings.cache_bytes);
  return settings.cache_share * static_cast<double>(block.seen_bytes.load(k_relaxed));
}

bool is_full(const EmulationBlock& block) {
  return static_cast<double>(block.cached_bytes.load(k_relaxed)) > capacity(block);
}

void add_seen(EmulationBlock& block, std::uint64_t bytes) {
  block.seen_bytes.fetch_add(bytes, k_relaxed);
  block.seen_units.fetch_add(1, k_relaxed);
}

struct Found {
  EmulatedUnit* unit;  ///< nullptr: the table is full
  std::uint32_t number;
  bool is_new;
};

/// A place for the unit; UINT32_MAX if there is none left.
std::uint32_t take_place(EmulationBlock& block, const EmulationParts& parts, std::uint64_t key, std::uint64_t bytes) {
  if (block.units.load(k_relaxed) >= block.settings.most_units) return UINT32_MAX;
  const std::uint32_t place = block.units.fetch_add(1, k_relaxed);
  if (place >= block.settings.most_units) return UINT32_MAX;
  parts.units[place].bytes.store(bytes, k_relaxed);
  parts.units[place].key.store(key, k_relaxed);
  return place;
}

Found find_unit(EmulationBlock& block, const EmulationParts& parts, std::uint64_t key, std::uint64_t bytes) {
  const std::uint32_t mask = block.settings.index_entries - 1;
  std::uint32_t place = UINT32_MAX;
  const auto first = static_cast<std::uint32_t>(scrambled(~key));
  for (std::uint32_t i = 0; block.settings.most_units != 0 && i < k_probes; ++i) {
    auto& entry = parts.index[(first + i) & mask];
    std::uint32_t known = entry.load(std::memory_order_acquire);
    if (known == 0) {
      if (place == UINT32_MAX) place = take_place(block, parts, key, bytes);
      if (place == UINT32_MAX) break;
      if (entry.compare_exchange_strong(known, place + 1, std::memory_order_acq_rel)) {
        return {&parts.units[place], place, true};
      }
    }
    if (parts.units[known - 1].key.load(k_relaxed) != key) continue;
    if (place != UINT32_MAX) parts.units[place].key.store(0, k_relaxed);
    return {&parts.units[known - 1], known - 1, false};
  }
  if (place != UINT32_MAX) parts.units[place].key.store(0, k_relaxed);
  return {nullptr, 0, false};
}

/// Files are kept by chance, and the chance follows what is missing or too much, so that the share is right within a
/// few files at any time: shares of small data sets would be off by their square root otherwise.
bool keeps_share(const EmulationBlock& block, std::uint64_t key, std::uint64_t bytes) {
  constexpr double k_files_to_make_up_in = 8.0;
  const double share = block.settings.cache_share;
  const auto seen = static_cast<double>(block.seen_bytes.load(k_relaxed));
  const double units = static_cast<double>(block.seen_units.load(k_relaxed)) + 1.0;
  const double missing = share * seen - static_cast<double>(block.cached_bytes.load(k_relaxed));
  const double mean_bytes = std::max(1.0, (seen + static_cast<double>(bytes)) / units);
  return chance(key) < share + missing / (k_files_to_make_up_in * mean_bytes);
}

/// A cache of a share is full from the beginning: which files it holds is arbitrary. One of a size fills up with what
/// is read first.
bool hit_minio(EmulationBlock& block, EmulatedUnit& unit, std::uint64_t key, std::uint64_t bytes) {
  std::uint64_t state = unit.state.load(k_relaxed);
  if (state != k_undecided) return state == k_kept;
  const bool by_share = block.settings.cache_share >= 0.0;
  const bool keeps = by_share ? keeps_share(block, key, bytes)
                              : static_cast<double>(block.cached_bytes.load(k_relaxed)) + static_cast<double>(bytes) <=
                                    capacity(block);
  if (!unit.state.compare_exchange_strong(state, keeps ? k_kept : k_refused, k_relaxed)) return state == k_kept;
  if (keeps) block.cached_bytes.fetch_add(static_cast<std::int64_t>(bytes), k_relaxed);
  add_seen(block, bytes);
  return keeps && by_share;
}

/// Drops what was used longest ago until the rest fits, and whenever the log has gone around.
void evict_oldest(EmulationBlock& block, const EmulationParts& parts) {
  const std::uint64_t most = block.settings.log_entries / 2;
  while (true) {
    std::uint64_t tail = block.log_tail.load(k_relaxed);
    const std::uint64_t head = block.log_head.load(k_relaxed);
    if (tail >= head || (!is_full(block) && head - tail < most)) return;
    const std::uint64_t entry = parts.log[tail & (block.settings.log_entries - 1)].load(std::memory_order_acquire);
    if (!block.log_tail.compare_exchange_strong(tail, tail + 1, k_relaxed)) continue;
    if (static_cast<std::uint32_t>(entry) != static_cast<std::uint32_t>(tail)) continue;  // its writer was killed
    EmulatedUnit& unit = parts.units[entry >> 32U];
    std::uint64_t cached = tail << 1U | 1U;  // otherwise it was used again since
    if (unit.state.compare_exchange_strong(cached, tail << 1U, k_relaxed)) {
      block.cached_bytes.fetch_sub(static_cast<std::int64_t>(unit.bytes.load(k_relaxed)), k_relaxed);
    }
  }
}

bool hit_lru(EmulationBlock& block, const EmulationParts& parts, const Found& found, std::uint64_t bytes) {
  const std::uint64_t place = block.log_head.fetch_add(1, k_relaxed);
  const std::uint64_t before = found.unit->state.exchange(place << 1U | 1U, k_relaxed);
  if ((before & 1U) == 0) block.cached_bytes.fetch_add(static_cast<std::int64_t>(bytes), k_relaxed);
  parts.log[place & (block.settings.log_entries - 1)].store(
      static_cast<std::uint64_t>(found.number) << 32U | static_cast<std::uint32_t>(place), std::memory_order_release);
  evict_oldest(block, parts);
  return (before & 1U) != 0;
}

void evict_any(EmulationBlock& block, const EmulationParts& parts, const EmulatedUnit* newest) {
  for (std::uint32_t tries = 0; tries < k_most_tries && is_full(block); ++tries) {
    const std::uint32_t units = std::min(block.units.load(k_relaxed), block.settings.most_units);
    EmulatedUnit& victim = parts.units[scrambled(block.draws.fetch_add(1, k_relaxed)) % units];
    std::uint64_t cached = 1;
    if (&victim == newest || !victim.state.compare_exchange_strong(cached, 0, k_relaxed)) continue;
    block.cached_bytes.fetch_sub(static_cast<std::int64_t>(victim.bytes.load(k_relaxed)), k_relaxed);
  }
}

bool hit_random(EmulationBlock& block, const EmulationParts& parts, EmulatedUnit& unit, std::uint64_t bytes) {
  std::uint64_t missing = 0;
  if (!unit.state.compare_exchange_strong(missing, 1, k_relaxed)) return true;
  block.cached_bytes.fetch_add(static_cast<std::int64_t>(bytes), k_relaxed);
  evict_any(block, parts, &unit);
  return false;
}

std::uint64_t advance(std::atomic<std::uint64_t>& clock, std::uint64_t now_ns, double cost_ns) {
  const auto cost = static_cast<std::uint64_t>(cost_ns + 0.5);
  std::uint64_t before = clock.load(k_relaxed);
  std::uint64_t after = 0;
  do {
    after = std::max(before, now_ns) + cost;
  } while (!clock.compare_exchange_weak(before, after, k_relaxed));
  return after > now_ns + k_emulated_burst_ns ? after - k_emulated_burst_ns : now_ns;
}

}  // namespace

bool emulated_hit(EmulationBlock& block, std::uint64_t key, std::uint64_t bytes) {
  const EmulationSettings& settings = block.settings;
  if (settings.policy == EmulatedPolicy::none) return false;
  const EmulationParts parts = emulation_parts(block);
  const Found found = find_unit(block, parts, key, bytes);
  if (found.unit == nullptr) {
    const bool hit = settings.policy == EmulatedPolicy::minio && chance(key) < settings.cache_share;
    if (!hit) block.counters.untracked_misses.fetch_add(1, k_relaxed);
    return hit;
  }
  if (settings.policy == EmulatedPolicy::minio) return hit_minio(block, *found.unit, key, bytes);
  if (found.is_new) add_seen(block, bytes);
  const bool hit = settings.policy == EmulatedPolicy::lru ? hit_lru(block, parts, found, bytes)
                                                          : hit_random(block, parts, *found.unit, bytes);
  return found.is_new ? chance(key) < settings.first_hit_share : hit;
}

std::uint64_t emulated_due(EmulationBlock& block, std::uint64_t now_ns, std::uint64_t bytes, std::uint64_t requests) {
  const EmulationSettings& settings = block.settings;
  std::uint64_t due_ns = now_ns;
  if (settings.ns_per_byte > 0.0) {
    due_ns = advance(block.bytes_clock_ns, now_ns, settings.ns_per_byte * static_cast<double>(bytes));
  }
  if (settings.ns_per_request > 0.0) {
    const double cost_ns = settings.ns_per_request * static_cast<double>(requests);
    due_ns = std::max(due_ns, advance(block.requests_clock_ns, now_ns, cost_ns));
  }
  return due_ns;
}

}  // namespace stallcast::record
