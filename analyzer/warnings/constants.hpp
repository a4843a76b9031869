/// What the looks of warnings take for much and little beside the threshold of each, which is in the table of
/// warnings.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stallcast {

// run.cpp

/// Blocks of steps, whose means a trend is looked for in. Chosen: its interval then has ten degrees of freedom.
inline constexpr std::size_t k_trend_blocks = 12;
/// Steps in each of them, from which it is. Chosen: fewer, and one long step makes a block. Held by "a job that becomes
/// slower is said to drift, a steady one is not" (tests/analyzer/warnings/run_test.cpp).
inline constexpr std::size_t k_fewest_steps_of_trend_block = 5;
/// Batches of a worker that is compared with others, by the median of what each took. Chosen: of fewer, a single slow
/// batch moves the median.
inline constexpr std::size_t k_fewest_made_by_worker = 10;
/// Batches by which ranks may differ, however short the run: one may be recorded for a step longer than another.
inline constexpr double k_uneven_batches_by_recording = 2.0;
/// Of a step, the fetch stall from which unused read-ahead matters. Chosen as the thresholds of waiting in the table
/// (slow-rank, slow-node).
inline constexpr double k_read_ahead_matters = 0.05;

// sightings.cpp

/// Of the bytes read, from which most of them are one file's, which is named.
inline constexpr double k_most_from_one_file = 0.5;

// streams.cpp: a pass that is looked at. tests/analyzer/warnings/warnings_test.cpp.

/// Batches of each worker, on average. Chosen: of fewer, one batch more or less looks uneven.
inline constexpr std::size_t k_fewest_turns_of_pass = 4;
/// Of its batches, whose worker is known. Chosen: a recording may miss the ends; missing more, a worker without a batch
/// may have made some.
inline constexpr double k_known_makers = 0.9;
/// Files of a stream that each worker read as a whole: of one file, there is nothing to split.
inline constexpr std::size_t k_fewest_files_to_split = 2;

// machine.cpp. tests/analyzer/warnings/machine_test.cpp.

/// Periods of a CPU quota (0.1 s each by the kernel's default), below which a share of them says little: 2 s.
inline constexpr std::int64_t k_fewest_quota_periods = 20;
/// Bytes of all workers together, from which growth of memory is told. Chosen: allocators and caches of libraries grow
/// by less.
inline constexpr double k_least_growth_bytes = 64e6;
/// Nanoseconds over which growth is looked for. Chosen: shorter, buffers that fill look like it.
inline constexpr std::uint64_t k_shortest_growth_ns = 10'000'000'000ULL;
/// Readings in that time, from which a trend has an interval of use (two degrees of freedom).
inline constexpr std::size_t k_fewest_memory_readings = 4;
/// Parts that readings are averaged to, however many there are. As many as a trend of steps has (k_trend_blocks).
inline constexpr std::size_t k_most_memory_readings = 12;

}  // namespace stallcast
