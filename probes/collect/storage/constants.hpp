/// What this room takes for long and short, many and few: how the probe spends its budget, with what set it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stallcast::collect {

// files.cpp
/// Chosen: of a walk, for memory; others are not sampled
inline constexpr std::size_t k_most_pending_folders = 50'000;

// probe.cpp. Shares are of the budget; chosen, so that most of it is left for reads from storage.
inline constexpr double k_walk_share = 0.08;      ///< for the walk; as much again for the first stats
inline constexpr double k_open_share = 0.08;      ///< for looking at each file
inline constexpr double k_resident_share = 0.1;   ///< for reads from memory, at the end
inline constexpr double k_metadata_share = 0.05;  ///< for opening files and nothing else, before that
/// of the best rate so far. Chosen: a doubling in flight that brings less has come to the ceiling
inline constexpr double k_still_rises = 1.1;
/// reads in flight. Chosen, when the probe was held against fio: windows are short and noisy, and one may look flat
inline constexpr int k_always_tried_in_flight = 8;
/// at most, of the ramp. Chosen: the ramp is a look, later rounds measure
inline constexpr double k_first_window_s = 0.3;
inline constexpr double k_most_window_s = 1.5;   ///< of later rounds. Chosen: more rounds tell more than longer ones
inline constexpr double k_least_window_s = 0.2;  ///< the same. Chosen: shorter ones are mostly their beginning and end
inline constexpr double k_least_first_window_s = 0.05;  ///< of the ramp. Chosen: several reads of a slow storage
/// of reads from memory. Chosen: they are a thousand times faster
inline constexpr double k_least_resident_window_s = 0.01;
inline constexpr double k_most_resident_window_s = 0.15;  ///< the same. Chosen: more tell no more
/// files or stretches in memory. Chosen: fewer would be read over and over, from the processor's own cache
inline constexpr std::size_t k_fewest_resident_tasks = 4;
/// of windows at each point. Chosen: a budget that allows more has files for no more
inline constexpr int k_most_rounds = 12;
inline constexpr double k_probe_pause_s = 0.05;  ///< between stretches of reading. Chosen: about a training step
inline constexpr int k_paused_stretches = 10;    ///< of a window, with reads in every second one. Chosen: 0.5 s in all
inline constexpr int k_paused_windows = 2;       ///< Chosen: the second shows whether the first was chance
/// of a stretch of reading. Chosen: of longer ones what a pause saved up cannot be told from what was in flight
inline constexpr double k_long_block_of_stretch = 0.25;
inline constexpr int k_parts_of_block = 8;  ///< Chosen: several of them at 20 MB/s in a stretch
/// of the best rate. Chosen: the fewest in flight that come to it will do
inline constexpr double k_nearly_most_rate = 0.9;
inline constexpr int k_look_up_rounds = 3;  ///< of opening files. Chosen: the most a second counts, not a mean
/// read whole. Chosen: of fewer, 32 reads cannot be kept in flight twice
inline constexpr std::size_t k_few_files = 64;
inline constexpr double k_in_order_s = 1.5;  ///< Seconds for reading files in order. Chosen: three of 10 MB at 20 MB/s

// in_order.cpp
inline constexpr int k_files_in_order = 3;                           ///< Chosen: one may be disturbed
inline constexpr std::size_t k_in_order_block_bytes = 64ULL << 10U;  ///< Chosen: far less than what comes at once
inline constexpr std::size_t k_in_order_first_bytes = 4096;          ///< as Python's buffered files ask for first
/// of the usual block's time. Chosen: copying from memory varies by less, and waiting for storage takes far longer
inline constexpr double k_waited_times = 8.0;
inline constexpr double k_least_waited_s = 0.2e-3;  ///< Seconds. Chosen: being scheduled away for less is no wait
/// of the time that all blocks took. Chosen: if the usual block explains so much of it, each was waited for
inline constexpr double k_evenly_share = 0.5;

// window.hpp
/// of one window. Chosen: its log is in memory from the start
inline constexpr std::size_t k_most_window_reads = 100'000;

// reader.cpp. Chosen: what a window leaves in the recording, whose size must not depend on how fast storage is.
inline constexpr std::size_t k_progress_rows = 256;  ///< of reads and bytes over time
inline constexpr std::size_t k_sampled_reads = 512;  ///< of single reads' times

// pool.cpp
/// of a file. Chosen: larger ones are read in stretches
inline constexpr std::uint64_t k_most_whole_bytes = 16ULL << 20U;
/// of a larger file. Chosen: a few sequential reads each
inline constexpr std::uint64_t k_stretch_bytes = 8ULL << 20U;
/// at a stretch's end, left to the kernel's readahead. Chosen, above its usual 128 KiB: what it brings in must lie
/// within what is dropped again
inline constexpr std::uint64_t k_left_to_readahead_bytes = 1ULL << 20U;
/// from one small block to the next. Chosen: blocks lie apart, so that no two are one request
inline constexpr std::uint64_t k_small_spacing_bytes = 16ULL << 10U;
/// Chosen: read in no time, and in memory anywhere
inline constexpr std::uint64_t k_most_resident_bytes = 32ULL << 20U;
inline constexpr std::size_t k_large_file_stretches = 512;  ///< of all large files together. Chosen: 4 GiB of them
/// and a quarter of what a process may. Chosen: small reads need them
inline constexpr std::size_t k_most_open_files = 256;
inline constexpr std::size_t k_most_tasks = 50'000;  ///< of one kind of read. Chosen: for memory; no budget needs more
/// asked whether they are in memory. Chosen: a share within a few percent
inline constexpr std::size_t k_checked_tasks = 64;

}  // namespace stallcast::collect
