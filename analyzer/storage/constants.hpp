/// What this room takes for much and little: thresholds and tolerances, with what set them.
#pragma once

#include <cstddef>

namespace stallcast {

// points.cpp: what of a window of reading counts. tests/analyzer/storage plays a simulated storage; tests/bench/storage
// reads a real one.

/// Seconds at the beginning of a window that do not count, as the queue fills and a throttle lets a burst pass: the
/// kernel's own hands out budgets of 20 to 100 ms (points.hpp).
inline constexpr double k_lead_s = 0.15;
/// Of a window, that this may be at most: three quarters of a short one are still measured.
inline constexpr double k_lead_share = 0.25;
/// Of the bytes of a cold window, that must come from storage where its pages were seen to be absent. A file system
/// that compresses fetches fewer than it gives; some room is left for that.
inline constexpr double k_least_stored_if_absent = 0.7;
/// Likewise, where nobody could look at the pages, and bytes are the only evidence.
inline constexpr double k_least_stored_if_unseen = 0.9;
/// Of the pages of a cold window that had been dropped, that may be in memory again: more were read by others. Chosen.
inline constexpr double k_most_pages_back = 0.01;
/// Of the bytes of resident reads, that may come from storage after all: as of a cached block (k_most_stored_if_cached
/// of analyzer/blocks).
inline constexpr double k_most_stored_if_resident = 0.02;
/// Seconds of a pause between completions that is longer than a disk's read takes, as a rule, and
inline constexpr double k_burst_gap_s = 0.01;
/// times the mean pause, beyond which it lies between two bursts of a throttle. Both chosen; held by "a throttle that
/// lets bursts through every 100 ms is read at its rate" (tests/analyzer/storage/fit_test.cpp).
inline constexpr double k_burst_gap = 5.0;
/// Pauses in a window, from which bursts are looked for. Chosen: of fewer the mean is one of them.
inline constexpr std::size_t k_fewest_gaps_for_bursts = 8;
/// Reads between the ends of a window's steady part; with fewer, the window counts as a whole. Chosen: one read more or
/// less is then a quarter.
inline constexpr double k_fewest_steady_reads = 4.0;
/// Seconds of cold reading at a point: what a storage gives for less than this it may have saved up. Chosen as long as
/// a budget of the kernel's throttle; held by "a file or two, read again and again from what the storage had saved up,
/// tell no rate" (tests/analyzer/storage/summary_test.cpp).
inline constexpr double k_least_cold_s = 0.05;
/// Windows, from which their spread tells how sure their rate is: Student's t over two values left points absent where
/// a single window gave a rate.
inline constexpr std::size_t k_fewest_windows_for_spread = 3;
/// Pieces of each window whose spread is taken where there are fewer. Chosen: as few as have an interval of use.
inline constexpr std::size_t k_window_pieces = 4;
/// Reads sampled in a window, up to which those of its lead count, too: better than none.
inline constexpr std::size_t k_few_sampled_reads = 8;

// curves.cpp

/// Of a class of sizes' mean time, the least standard error: a class with many reads must not silence the others
/// (fit.hpp).
inline constexpr double k_least_class_error = 0.01;
/// Of a rate with some number in flight, the least half of its interval as a weight, likewise.
inline constexpr double k_least_rate_error = 1e-3;
/// Times the smallest size, that the largest must have for latency and bandwidth to be told apart. Held by "reads of
/// one size cannot tell latency from bandwidth" (fit_test.cpp).
inline constexpr double k_sizes_apart = 1.2;
/// Times the rate with fewer in flight, below which more of them bring no more: a tenth of what a doubling would bring.
inline constexpr double k_flat_in_flight = 1.1;
/// Times the rate with fewer in flight, that the interval of more must rule out: half of a doubling. Both held by "one
/// low point does not hide a plateau, and a rise is none" (fit_test.cpp).
inline constexpr double k_rise_ruled_out = 1.5;
/// Of the best rate, from which points lie on the same plateau and are taken together. Chosen: about the scatter of
/// windows.
inline constexpr double k_same_plateau = 0.97;
/// Times the best rate seen, that an asymptote of the scalability law may be. Chosen: as far as the next doubling in
/// flight would show.
inline constexpr double k_most_extrapolated = 2.0;
/// Numbers in flight, that the law must be seen at for that: one more than it has coefficients.
inline constexpr std::size_t k_fewest_points_to_extrapolate = 4;
/// Of the rate, root mean square by which the law may miss the points for that. Chosen: below it the curve bends, above
/// it points scatter.
inline constexpr double k_most_law_residual = 0.05;

// fit.cpp

/// Reads in a class of sizes, for its mean to have an error.
inline constexpr std::size_t k_fewest_reads_of_class = 3;
/// Times the files a second, up to which 4 KiB reads come hardly faster: the number of both is what is limited.
inline constexpr double k_count_binds = 1.15;
/// Of the ceiling of bytes, from which files bring about as many: their bytes are what is limited. Both chosen; held by
/// "small files behind a limit of reads ..." and "files behind a limit of bytes ..." (fit_test.cpp).
inline constexpr double k_bytes_bind = 0.85;
/// Of the usable cores, busy while it was read, from which ceilings are the machine's. Chosen: the rest is the tool's
/// own waiting.
inline constexpr double k_busy_reading_cores = 0.85;
/// Likewise, while files were opened: threads also wait for each other's locks. Held by "how many files can be opened
/// is a ceiling of its own, unless the machine's cores are what limits it" (fit_test.cpp).
inline constexpr double k_busy_opening_cores = 0.7;
/// Of the rate in the first half of the windows, below which the second shows a burst that ran out. Chosen; held by "a
/// rate that falls while it is measured is a burst that ran out" (fit_test.cpp).
inline constexpr double k_burst_ran_out = 0.8;
/// Windows that are halved for that: two on each side.
inline constexpr std::size_t k_fewest_windows_to_halve = 4;

// summary.cpp

/// Of the bytes as found, that came from storage; of the time, that the readers were in reads: from here on they waited
/// for the storage alone. Both chosen: what is missing makes the rate of so many at once uncertain by as much.
inline constexpr double k_least_stored_as_found = 0.9;
inline constexpr double k_least_waiting_share = 0.85;

/// Bytes of a block (k_large_block_bytes of probes/collect/storage), less what ends of files cut off.
inline constexpr double k_whole_block_bytes = 0.9 * 1048576.0;
/// Reads that came after a pause, whose median is told.
inline constexpr std::size_t k_fewest_reads_after_pause = 4;
/// Of a turn of reading and pausing, that may be missing from the last one for it to be whole: what is in flight at its
/// end comes in later.
inline constexpr double k_missing_of_turn = 0.25;

// probe_result.cpp

/// Bytes of a file, below which it is small: what Linux reads ahead by default (read_ahead_kb = 128). As
/// k_small_file_bytes of analyzer/reads.
inline constexpr double k_small_probed_file_bytes = 128.0 * 1024.0;

}  // namespace stallcast
