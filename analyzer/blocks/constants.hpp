/// What this room takes for much and little: thresholds and tolerances, with what set them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "probes/record/layout.hpp"

namespace stallcast {

// premise.cpp: what of a block's evidence must be true. docs/how/intervals.md promises these shares to the user;
// tests/analyzer/blocks/premise_test.cpp has each case. Chosen as small as the kernel's own read-ahead and pages of
// others allow; what is left of the other state biases a rate by about as much.

/// Of the opened bytes, that may be resident in a cold block. The schedule judges by it, too.
inline constexpr double k_most_resident_if_cold = record::k_most_resident_if_cold;
/// Of the bytes read, that must come from storage in a cold block. Chosen, less strict than what may be resident: that
/// is asked at each open, while bytes from storage are counts of a process that do not end with a batch.
inline constexpr double k_least_stored_if_cold = 0.90;
/// Of the bytes that a hold's batches read, by which storage may have given more or less: a hold makes few batches, and
/// what the kernel reads ahead in a stream is for those that follow.
inline constexpr double k_read_ahead_of_hold = 0.10;
inline constexpr double k_page_bytes = 4096.0;  ///< a file's last one comes from storage as a whole
/// Of the same bytes, that such last pages may have in addition. Chosen: of files of 8 KiB on
inline constexpr double k_last_pages_of_hold = 0.5;
/// Of a first touch's samples, that may have been read before.
inline constexpr double k_most_read_before = 0.02;
/// Of the bytes read, that may come from storage in a cached block; of mapped files, page faults that waited, for a
/// sample.
inline constexpr double k_most_stored_if_cached = 0.02;
/// Of a block's samples, from which they are first reads and the metadata is as found.
inline constexpr double k_first_reads_of_block = 0.98;
/// Bytes that the kernel reads around a mapped page that is missing, by default (read_ahead_kb = 128).
inline constexpr double k_read_around_fault = 131072.0;
/// Of the opened bytes, below which batches read ranges of large files, and the rest need not be resident. Chosen:
/// files that are read as a whole come to 1, headers and padding left aside.
inline constexpr double k_most_read_of_ranges = 0.5;
/// The same of ranges that are not much smaller than the granules in which they are looked at, as long as no fewer
/// bytes are resident than were read. Chosen: 50 KB in granules of 64 KiB come to 0.55 to 0.8.
inline constexpr double k_most_read_of_granules = 0.9;

// differential.cpp

/// Of the rate from memory, by which that of a run that was found in memory may differ from it; of the rate from
/// storage likewise. Chosen: a machine's speed moves by so much within a minute; what differs by more may have been
/// another state.
inline constexpr double k_same_state = 0.05;

// measure.cpp, read_ahead.cpp

/// Batches in a block. Chosen: with fewer, the one that is cut in half at each end decides the rate.
inline constexpr std::int64_t k_fewest_in_block = 4;
/// Of the time between deliveries, that a script waits for batches to be made, from which a block's rate is that of its
/// workers. Chosen: batches do not pile up beside a job that waits so much.
inline constexpr double k_mostly_waits_for_making = 0.5;
/// Of the time in which workers that wait for storage make batches, that its steps leave over. Chosen: of less it is
/// not sure that the job waits for them.
inline constexpr double k_least_wait_for_making = 0.05;
/// Of a stream's cold block, that must be waiting for its time to be that of the bytes from storage. Chosen: what waits
/// less is not as slow as its storage.
inline constexpr double k_waits_for_storage = 0.1;
/// Of the time in which its workers make batches, that is computing, beyond which a block is not as slow as its
/// storage. Chosen: half.
inline constexpr double k_computes_most = 0.5;
/// Of the bytes that a stream's cold block read, by which storage may have given more or less, for its time to be
/// corrected by that. Chosen: beyond it, what the kernel reads ahead is not small beside the block.
/// tests/analyzer/blocks/streams_test.cpp has both sides.
inline constexpr double k_most_read_ahead_of_block = 0.3;
/// Of a cold block's batches, that open a file, from which nothing is read ahead of them: each waits for all of a file.
/// Chosen: half.
inline constexpr double k_opens_each = 0.5;
/// Times what a batch of the block reads, from which the first ones of a pass fill a buffer. Chosen: batches of samples
/// that differ do not differ by so much.
inline constexpr double k_fills_buffer = 1.5;

// whole_shards.cpp

/// Of a block's deliveries, that lie between two of a worker that opened a shard. Chosen: of less, most of the block
/// would be left out for what the rest of it began with.
inline constexpr double k_least_in_whole_shards = 1.0 / 3.0;
/// Of the batches of a shard, by which shards may differ and be told by their mean, or by one batch: few end with one.
/// Chosen: so much of a shard is read more or less at the end of a span, of a block in which several workers read one
/// or two each.
inline constexpr double k_shards_differ = 0.1;
/// Shards whose lengths were seen, from which all are taken to be as long. Chosen: one or two may be alike by chance.
inline constexpr std::size_t k_fewest_shards_alike = 3;

// production.cpp: whether workers never rested. tests/analyzer/blocks/production_test.cpp.

/// Of the time, from which a worker made batches all along: handing one over and taking the next list is no rest.
inline constexpr double k_busy_all_the_time = 0.95;
/// The same, where all workers in the mean did for k_busy_in_the_mean. Chosen: one of eight that is ahead by a quarter
/// of a batch rests for a tenth of a block of three
inline constexpr double k_busy_for_most = 0.85;
inline constexpr double k_busy_in_the_mean = 0.97;  ///< Chosen: what is not made meanwhile is as much
/// Times the time, beyond which a worker made two at once, and times do not add up. Chosen: clocks and rounding are
/// less.
inline constexpr double k_two_at_once = 1.01;

// content.cpp

/// Groups of deliveries beside those that tell the blocks' means, from which a regression on their bytes is made.
/// Chosen: the slope is shrunk by its own error, which fewer hardly tell.
inline constexpr std::size_t k_fewest_content_groups = 8;
/// Of a sample's mean bytes, the standard deviation between groups below which they are all alike. Chosen: no slope is
/// seen in less, and none is needed.
inline constexpr double k_least_content_spread = 0.01;

// windows.cpp

/// Time for which storage that rested may deliver beyond its limit. Chosen: Linux gives a rested group one slice at
/// once (throtl_slice of block/blk-throttle.c, HZ / 10 at most).
inline constexpr std::uint64_t k_saved_up_ns = 100'000'000;

// windows.cpp: blocks whose making nobody recorded.

/// Of its time before it was ever held back, from which a job waits. Chosen: a loader's queue was never full then, and
/// a block in which it waits half as much lived on what was ready.
inline constexpr double k_waited_before = 0.05;
/// Deliveries of a pass before the job was held back, whose second half tells that. Chosen: the first half fills
/// queues, and of fewer than eight one long wait decides.
inline constexpr std::size_t k_fewest_delivered_before = 16;

// bursts.cpp: a burst hands over what is ready; if workers went on, its steps shared their cores.

/// Of a burst's time, in which batches may have been made.
inline constexpr double k_most_made_in_burst = 0.02;
/// Of a burst's time, that each worker may have computed: more than k_most_made_in_burst, as threads that wake up and
/// find nothing to do are counted, too.
inline constexpr double k_most_worked_in_burst = 0.05;
/// Seconds of CPU time that are no work: two ticks (10 ms by default) of the kernel's clock that tells it.
inline constexpr double k_cpu_granularity_s = 0.02;
/// Steps of a burst, or makings of a hold, that were not interrupted. As many as a block needs (k_fewest_in_block).
inline constexpr std::size_t k_fewest_steps_beside = 4;
/// Batches that a hold must have made where one worker or two are held; of more workers, half of them one each. Chosen:
/// one alone shows no spread.
inline constexpr std::size_t k_fewest_in_hold = 2;

// mapped.cpp

/// Of what storage gives of a cold sample, from which the run as found took all from there: the share that a cached
/// block may lack (k_most_stored_if_cached), from the other end.
inline constexpr double k_all_stored_as_found = 0.98;

// differential.cpp

/// Of the opened bytes, that may have been in memory before cold blocks evicted them, for the state found to be cold:
/// k_most_resident_if_cold, as the same is claimed.
inline constexpr double k_most_resident_as_found = 0.02;

// rounds.cpp: neighbouring rounds have the machine's speed in common. "intervals hold the truth as often as they say,
// also where the machine's speed wanders between rounds" (tests/analyzer/blocks/differential_test.cpp) holds at least
// 90 % for nominal 95 %; without these it was 86 to 93 %.

/// Rounds of a state, from which their correlation is looked at: of three, one pair decides.
inline constexpr std::size_t k_fewest_rounds_to_correlate = 4;
/// Standard errors (1 / sqrt(n)) that the correlation counts higher than estimated: too narrow an interval is the worse
/// mistake. Set anew (0.75 before) when cold blocks left out their beginning: a synthetic rate of that test was covered
/// by 89.6 %.
inline constexpr double k_correlation_margin = 0.8;
/// Correlation of rounds that intervals are widened for, at most: beyond it a few rounds say next to nothing.
inline constexpr double k_most_correlated_rounds = 0.7;

// issues.cpp: what is worth telling.

/// Of the logarithm of a rate, that a round lies from the median of its state, from which it is named. Chosen: rates of
/// rounds scatter by some 3 % (the drift of the tests above); a quarter is no scatter.
inline constexpr double k_outlier_round = 0.25;
/// Rounds of a state, from which one stands out: of three the median is one of them and two may be on either side of
/// it.
inline constexpr std::size_t k_fewest_rounds_for_outlier = 4;
/// Rounds that stand out and are named by number. Chosen: more are a machine that is never quiet.
inline constexpr std::size_t k_outliers_by_name = 4;
/// Of the opened bytes, that may have stayed in memory unnamed, as others' pages: as much as the premise leaves
/// (k_most_resident_if_cold).
inline constexpr double k_most_foreign_unnamed = 0.02;
/// Of a round's time, by which it was moved to the mean content, from which that is told. Chosen: a quarter of the 2 %
/// to which rates are wanted by default.
inline constexpr double k_told_content = 0.005;
/// Of its CPU time, that a step computes more or less in blocks, from which the job is no longer the one that was
/// found. Chosen: clocks of cores and caches vary by less. Held by "a step that computes less in the blocks than it did
/// as found is told" (tests/analyzer/blocks/issues_test.cpp).
inline constexpr double k_told_step_change = 0.15;
/// Of the step, that its process must compute for that to be asked: elsewhere it mostly waits, and what it does varies.
inline constexpr double k_step_computes = 0.5;

}  // namespace stallcast
