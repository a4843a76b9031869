/// What this room takes for long and short, many and few: lengths of blocks and groups, with what set them.
#pragma once

#include <cstdint>

namespace stallcast::collect {

// phase_timing.hpp: what the parts of the schedule share.
/// Seconds that ranks may run until we have looked and published again. Chosen: some looks of the tool, so that a late
/// one harms nothing
inline constexpr double k_look_s = 0.3;
/// before the first round. Chosen: start-up is over, a short budget goes on
inline constexpr double k_as_found_s = 3.0;
/// the same, however few batches came. Chosen: a budget is minutes
inline constexpr double k_as_found_at_most_s = 20.0;
/// the same, batches. Chosen: as few as a block, for a rate to plan by
inline constexpr std::uint64_t k_as_found_turns = 12;
/// of a block, measured, at the rate as found. Chosen: over it the ends of a block, where batches come in bunches,
/// matter little; of several rounds each has all states, as the machine's speed drifts
inline constexpr double k_block_s = 1.5;
/// and no fewer than workers. Chosen: batches come in bunches
inline constexpr std::uint64_t k_fewest_block_batches = 12;
/// of a block whose batches take long, if twice the time does
inline constexpr std::uint64_t k_many_block_batches = 24;
/// Chosen: more make no rate surer, and their files must be held
inline constexpr std::uint64_t k_most_block_batches = 400;

// phase_schedule.cpp
/// of the time as found that ranks waited, at most. Chosen: what they waited before is not theirs to count
inline constexpr double k_most_waited_share = 0.99;
/// times that files were held later than foreseen. Chosen: once is chance; from then on all files are held
inline constexpr int k_most_late_holds = 2;
/// between looks. Chosen: turns of less come in bunches, which are no rate
inline constexpr double k_rate_over_s = 0.2;
/// of the turns that passed while files were read the last time. Chosen: by so much storage may be slower now
inline constexpr double k_read_slack = 1.3;
inline constexpr double k_first_read_s = 2.0;  ///< taken for it before anything was read. Chosen: files of a block
inline constexpr double k_least_read_s = 0.5;  ///< taken for it. Chosen: what took no time was in memory
/// turns of a job that waits for storage to those that are read beside it. Chosen: four readers for each of its own
/// leave it a quarter as much as they get where all are served alike; by a limit of the kernel they left it an eighth
inline constexpr double k_files_beside_reading = 0.2;
inline constexpr double k_slowest_lead_rate = 0.1;  ///< turns a second. Chosen: a job without a rate has some lead, too

/// that bringing all files in took. Chosen: longer than what a round has from memory
inline constexpr double k_long_hold_s = 10.0;

/// left when it was begun. Chosen: a third is for the blocks, which are short beside it
inline constexpr double k_most_of_budget_to_hold = 2.0 / 3.0;

/// rounds in a row. Chosen: some reader of a stream is always near the end of its shard then
inline constexpr int k_most_not_yet = 8;
/// turns of the job to those that are read beside it. Chosen: the job reads in larger requests, and keeps two thirds
inline constexpr double k_stream_beside_reading = 2.0;

/// turns beyond those of a group whose place and length are known. Chosen: nothing moves it
inline constexpr std::uint64_t k_spare_turns = 2;
/// times the turns that reading is expected to take. Chosen: what is late has been read for nothing
inline constexpr double k_gap_slack = 1.2;

/// times what a premise allows, that stays of maps. Chosen: the batches with which a block begins are counted here, and
/// not there
inline constexpr double k_surely = 2.0;

// phase_groups.cpp
/// of blocks from memory, at the rate that they have had so far. Chosen: where a job waits for storage, as
/// many batches as a cold block has come in half a second, too few for a rate
inline constexpr double k_cached_block_s = 2.0;
/// of a cold block, to those that reading files took the last time. Chosen: half as much again is no long round
inline constexpr double k_cold_to_reading = 0.5;
inline constexpr double k_longest_cold_block_s = 4.0;  ///< Chosen: more rounds tell more than longer blocks
/// of a block of a stream: read ahead by 8 MiB its batches come in lumps, and blocks of 1.5 s told 6 % low
inline constexpr double k_stream_block_s = 4.0;
/// batches whose making tells what one takes. Chosen: a slow job has made as many when its blocks are planned
inline constexpr std::uint64_t k_fewest_made = 12;
/// of what the kernel reads ahead of a stream's readers, in a cold block. Chosen: a block begins and ends in the midst
/// of one, and of five of them (80 MB of 8 MiB windows) some had 160 % of what they read from storage
inline constexpr std::uint64_t k_windows_of_cold_block = 8;
/// for a cold block of a stream that holds whole shards. Chosen: three rounds' cold blocks take half of it
inline constexpr double k_most_of_budget_for_shards = 1.0 / 6.0;
/// of a hold in which slow batches are made. Chosen: it ends after 10 s at most, and storage is not always as quick
inline constexpr double k_hold_s = 7.0;
/// of a burst. Chosen: fewer steps tell no rate
inline constexpr std::uint32_t k_fewest_burst_batches = 6;
/// of the time so far that the script has been held. Chosen: from here on a group has one burst
inline constexpr double k_most_held_time = 1.0 / 3.0;
inline constexpr std::uint64_t k_burst_batches = 8;  ///< of a group's bursts together. Chosen: enough to tell a rate by
inline constexpr int k_most_bursts = 4;  ///< of a group. Chosen: each empties the queue, and costs its refill
/// that the batches of one burst last. Chosen: first groups of jobs with longer ones leave bursts out, which are a
/// third of what is to be read into memory
inline constexpr double k_long_burst_s = 2.0;
/// of a step. Chosen: a job that waits less needs a second hold, as its first one begins with a full queue
inline constexpr double k_hardly_waited_share = 0.2;
inline constexpr double k_several_batches = 1.5;  ///< of a step, in the mean
/// left of the budget. Chosen: a round of all kinds of blocks takes up to twice as long as one without further blocks
inline constexpr double k_last_rounds = 2.0;
/// added to a sample's reading, and computing. Chosen: of the size that these have themselves, so that a rate shows it
inline constexpr std::uint64_t k_added_read_ns = 500'000;
inline constexpr std::uint64_t k_added_cpu_ns = 500'000;

// phase_costs.cpp
/// batches a second: a rate of 0 would make a group last for ever
inline constexpr double k_slowest_batch_rate = 1e-3;

// phase_end.cpp
/// times the pace of cold batches so far, that some of them may have. Chosen: they come in bunches of as many as
/// workers
inline constexpr double k_faster_than_so_far = 4.0;
/// Seconds after the end in which a rank has not come to it. Chosen: it is busy elsewhere (evaluates, saves), and over
inline constexpr double k_busy_elsewhere_s = 30.0;

// overhead_schedule.cpp
/// stretches of 1 s in the order A B B A, before one in 15 is off. Chosen: five groups, in which a linear drift
/// cancels; tests/bench/overhead has it for the whole run instead
inline constexpr std::uint64_t k_dense_stretches = 20;

// phased_run.cpp
/// Chosen: a line that is read does not flicker
inline constexpr std::uint64_t k_progress_every_ns = 1'000'000'000ULL;

// recorded_files.cpp
/// bytes that are held for samples whose places are guessed, to those that they take. Chosen: holding is to cost less
/// than what it tells is worth, but so little is read in seconds all the same
inline constexpr double k_most_for_places = 8.0;
inline constexpr double k_little_for_places = 1024.0 * 1024.0 * 1024.0;
/// threads that read what is to be held, for each worker of the job: four fifths of what storage gives then are theirs,
/// and what they read the job need not read later
inline constexpr std::size_t k_readers_of_a_worker = 4;
inline constexpr std::size_t k_most_readers = 64;  ///< Chosen: four for each of sixteen workers
/// of the samples of a block, that the job has never read. A block from memory with more would fail its premise
inline constexpr double k_most_unknown_samples = 0.01;
/// of the samples that ranks tell, that several of them have. Chosen: DistributedSampler repeats fewer so that all
/// ranks have as many; more are had in common, and one rank's cold batches would find them held for another
inline constexpr double k_most_shared_samples = 0.01;
/// Chosen: a reader's pace over minutes is wanted, and a look opens some files of /proc
inline constexpr std::uint64_t k_look_at_positions_every_ns = 1'000'000'000ULL;
/// of what a stream's readers take in the mean. Chosen: shards' samples differ, and workers are not at one pace
inline constexpr double k_off_of_stream = 0.05;
/// files to the samples that were read from them, below which samples share files. Chosen: some may be read twice
inline constexpr double k_own_files = 0.9;
/// of a shard, that a block takes. Chosen: of more, all readers hardly ever have so much before them at a time
inline constexpr double k_most_of_shard = 0.6;

}  // namespace stallcast::collect
