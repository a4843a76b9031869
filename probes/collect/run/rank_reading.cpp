#include "probes/collect/run/rank_reading.hpp"

namespace stallcast::collect {

std::vector<RankReading> read_ranks(const record::ControlBlock& control) {
  std::vector<RankReading> readings;
  for (std::uint32_t slot = 0; slot < record::k_max_ranks; ++slot) {
    const record::RankSlot& source = control.ranks[slot];
    const std::uint64_t pid = source.pid.load(std::memory_order_acquire);
    if (pid == 0) continue;
    RankReading reading;
    reading.slot = slot;
    reading.pid = pid;
    reading.rank = source.rank.load(std::memory_order_relaxed);
    reading.batches = source.batches.load(std::memory_order_relaxed);
    reading.samples = source.samples.load(std::memory_order_relaxed);
    reading.waited_ns = source.waited_ns.load(std::memory_order_relaxed);
    reading.delivered_ns = source.delivered_ns.load(std::memory_order_relaxed);
    reading.steps = source.steps.load(std::memory_order_relaxed);
    reading.state = static_cast<record::RankState>(source.state.load(std::memory_order_relaxed));
    readings.push_back(reading);
  }
  return readings;
}

const char* rank_state_name(record::RankState state) {
  switch (state) {
    case record::RankState::idle:
      return "idle";
    case record::RankState::iterating:
      return "iterating";
    case record::RankState::finished:
      return "finished";
    case record::RankState::dirty:
      return "dirty";
    case record::RankState::opening:
      return "opening";
  }
  return "unknown";
}

}  // namespace stallcast::collect
