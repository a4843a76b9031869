#include "simulation/node_cache.hpp"

#include <algorithm>

#include "simulation/constants.hpp"
#include "simulation/random.hpp"

namespace stallcast::simulation {
namespace {

std::uint32_t most_places(std::uint32_t room, std::uint64_t most_reads) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(room, most_reads));
}

}  // namespace

NodeCache::NodeCache(Evicts evicts, std::uint32_t room, std::uint64_t most_reads, std::uint64_t seed)
    : evicts_(evicts), room_(room), seed_(seed) {
  const std::uint32_t most = most_places(room, most_reads);
  table_.resize(static_cast<std::size_t>(k_table_over_entries * most) + 4);
  places_.reserve(most);
}

double NodeCache::memory_bytes(double room, double most_reads) {
  return std::min(room, most_reads) * (k_table_over_entries * sizeof(std::uint64_t) + sizeof(Place)) +
         sizeof(NodeCache);
}

std::size_t NodeCache::entry_of(std::uint32_t item) const {
  const std::uint64_t wanted = static_cast<std::uint64_t>(item) + 1;
  std::size_t entry = home_of(item);
  while (table_[entry] != 0 && table_[entry] >> 32 != wanted) {
    if (++entry == table_.size()) entry = 0;
  }
  return entry;
}

void NodeCache::insert(std::size_t entry, std::uint32_t item, std::uint32_t place) {
  table_[entry] = (static_cast<std::uint64_t>(item) + 1) << 32 | place;
}

/// Linear probing without tombstones: entries behind the gap that may stand in it move up.
void NodeCache::forget(std::uint32_t item) {
  const std::size_t size = table_.size();
  std::size_t gap = entry_of(item);
  for (std::size_t entry = gap + 1 == size ? 0 : gap + 1; table_[entry] != 0;
       entry = entry + 1 == size ? 0 : entry + 1) {
    const std::size_t home = home_of(static_cast<std::uint32_t>((table_[entry] >> 32) - 1));
    const std::size_t from_home = entry >= home ? entry - home : entry + size - home;
    const std::size_t from_gap = entry >= gap ? entry - gap : entry + size - gap;
    if (from_home < from_gap) continue;
    table_[gap] = table_[entry];
    gap = entry;
  }
  table_[gap] = 0;
}

void NodeCache::link_first(std::uint32_t place) {
  places_[place].newer = k_nobody;
  places_[place].older = newest_;
  if (newest_ != k_nobody) places_[newest_].newer = place;
  newest_ = place;
  if (oldest_ == k_nobody) oldest_ = place;
}

void NodeCache::unlink(std::uint32_t place) {
  const std::uint32_t newer = places_[place].newer;
  const std::uint32_t older = places_[place].older;
  (newer == k_nobody ? newest_ : places_[newer].older) = older;
  (older == k_nobody ? oldest_ : places_[older].newer) = newer;
}

void NodeCache::use(std::uint32_t place) {
  if (evicts_ != Evicts::least_recent || place == newest_) return;
  unlink(place);
  link_first(place);
}

void NodeCache::admit(std::uint32_t item) {
  const auto kept = static_cast<std::uint32_t>(places_.size());
  if (kept < room_) {
    places_.push_back({.item = item});
    insert(entry_of(item), item, kept);
    if (evicts_ == Evicts::least_recent) link_first(kept);
    return;
  }
  if (evicts_ == Evicts::never || room_ == 0) return;
  const bool oldest = evicts_ == Evicts::least_recent;
  const std::uint32_t place = oldest ? oldest_ : below(upper_half(stream(seed_, evictions_++)), room_);
  forget(places_[place].item);
  places_[place].item = item;
  insert(entry_of(item), item, place);
  use(place);
}

bool NodeCache::read(std::uint32_t item) {
  const std::uint64_t found = table_[entry_of(item)];
  if (found == 0) {
    admit(item);
    return false;
  }
  use(lower_half(found));
  return true;
}

void NodeCache::clear() {
  std::fill(table_.begin(), table_.end(), 0);
  places_.clear();
  newest_ = oldest_ = k_nobody;
}

}  // namespace stallcast::simulation
