/// A copy of the job's rank slots at one instant.
#pragma once

#include <cstdint>
#include <vector>

#include "probes/record/control.hpp"

namespace stallcast::collect {

/// Plain values of one claimed RankSlot; meanings and clocks as there.
struct RankReading {
  std::uint32_t slot = 0;
  std::uint64_t pid = 0;
  std::uint32_t rank = UINT32_MAX;
  std::uint64_t batches = 0;
  std::uint64_t samples = 0;
  std::uint64_t waited_ns = 0;
  std::uint64_t delivered_ns = 0;
  std::uint64_t steps = 0;
  record::RankState state = record::RankState::idle;
};

/// Every slot that a process has claimed.
[[nodiscard]] std::vector<RankReading> read_ranks(const record::ControlBlock& control);

/// "idle", "iterating", "finished" or "dirty".
[[nodiscard]] const char* rank_state_name(record::RankState state);

}  // namespace stallcast::collect
