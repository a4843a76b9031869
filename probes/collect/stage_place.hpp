/// Where the bytes of cached blocks can be kept in memory: a file system in memory with room.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace stallcast::collect {

struct StagePlace {
  std::filesystem::path folder{};
  std::uint64_t free_bytes = 0;
};

/// Below this a stage would not hold a block.
inline constexpr std::uint64_t k_least_stage_bytes = 32ULL << 20U;

/// Folders in memory that we may write to and that have room for a stage and as much again for the loader itself, the
/// best first.
[[nodiscard]] std::vector<StagePlace> stage_places();

}  // namespace stallcast::collect
