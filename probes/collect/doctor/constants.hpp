/// What this room takes for enough, with what set it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stallcast::collect {

// storage.cpp
/// written and evicted again. Chosen: pages enough to see some stay
inline constexpr std::size_t k_own_file_bytes = 1U << 20U;
/// of an eviction. Chosen: pages are on their way to its list
inline constexpr long k_before_second_try_ns = 20'000'000;
/// free. Chosen: half of what is free is left to the job, and the other half holds a long run's recordings
inline constexpr std::uint64_t k_enough_for_recordings = 512ULL << 20U;
/// free in /dev/shm. Chosen, above the 64 MB that containers get by default: workers hand batches over there
inline constexpr std::uint64_t k_enough_shared_memory = 256ULL << 20U;
/// of a quarter of the free memory, which files of cached blocks may take. Chosen: those of a block of large samples
inline constexpr std::uint64_t k_enough_held = 256ULL << 20U;
/// of a process. Chosen: Linux' usual soft limit; less has been lowered, and workers hand tensors over as open files
inline constexpr std::uint64_t k_enough_open_files = 1024;

// machine.cpp
inline constexpr int k_clock_readings = 2000;  ///< averaged. Chosen: below a millisecond, where the clock is a fast one

// capture.cpp
inline constexpr std::size_t k_most_pythons = 8;  ///< on PATH. Chosen: each is started and asked, which takes its time

}  // namespace stallcast::collect
