/// What this room takes for late, young and many, with what set it.
#pragma once

#include <cstdint>

namespace stallcast::collect {

// emulation.cpp
/// files, or ranges of a large one, in the emulated cache. Chosen: room for a million files, or 128 GiB of ranges: 48
/// MB on the disk, of which only what is used costs memory
inline constexpr std::uint32_t k_most_units = 1U << 20U;
/// of the time of emulated reads, that real ones may add. Chosen: beyond it the emulation is said not to hold; its
/// rates are within about 3 % of the kernel's own limit (tests/bench/emulation, docs/accuracy.md)
inline constexpr double k_late_share = 0.02;

// kernel_groups.cpp
/// since its run began. Chosen: an empty group may be of a run that still starts
inline constexpr std::uint64_t k_young_group_s = 60;
/// tries to remove a group. A process that has just been waited for may still count as a member for a moment. Chosen:
/// half a second in all, which an end may take
inline constexpr int k_removals = 50;
inline constexpr std::uint32_t k_removal_us = 10'000;          ///< between two of them
inline constexpr std::uint32_t k_longest_wait_us = 1'000'000;  ///< where processes live on. Chosen: no load by looking

// kernel_plan.cpp
/// of a CPU quota: Linux' default for cpu.max and cfs_period_us
inline constexpr std::int64_t k_quota_period_us = 100'000;

}  // namespace stallcast::collect
