/// What this room takes for long and short, many and few: what is asked for at once and how often, with what set it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stallcast::collect {

// held_part.cpp
inline constexpr std::uint64_t k_held_at_once_bytes = 1ULL << 20U;  ///< Chosen: how soon a hold can be given up
/// of a file that the job has mapped. Chosen: as the kernel reads around a page fault. Beside 1 MiB a job of two
/// workers on a mapped file of 500 MB, with storage of 20 MB/s, took 8 batches in 26 s, of 250 that it takes otherwise
inline constexpr std::uint64_t k_of_mapped_file_bytes = 128ULL << 10U;
/// of a part, at the most. Chosen: with four readers as much as two of a job have under way in windows of 8 MiB
inline constexpr std::uint64_t k_part_ahead_bytes = 4ULL << 20U;

// recording_follower.cpp
/// since something was added to a recording. Chosen: whoever added nothing for so long is looked at less often
inline constexpr std::uint64_t k_quiet_after_ns = 10'000'000'000;
/// Chosen: what is added late is late by no more
inline constexpr std::uint64_t k_quiet_look_every_ns = 1'000'000'000;
inline constexpr std::size_t k_most_followed_blocks = 1U << 20U;  ///< Chosen: 64 GiB. A header that says more is broken

// stream_positions.cpp
/// of what comes next in a shard. Chosen: near what the kernel reads ahead at most
inline constexpr std::uint64_t k_part_of_stream_bytes = 4ULL << 20U;

// resident_read.cpp: what a read from memory costs, by the medians of reads of two sizes.
inline constexpr std::size_t k_small_read_bytes = 4 * 1024;  ///< Chosen: a page, nearly all of it the call
/// Chosen: as Linux reads ahead, nearly all of it copying
inline constexpr std::size_t k_large_read_bytes = 128 * 1024;
inline constexpr std::size_t k_timed_reads = 64;  ///< of each. Chosen: enough for a median

// files_of_samples.cpp
/// of a hash table's entry: itself, its bucket, what the allocator adds. Estimated
inline constexpr std::uint64_t k_hash_node_bytes = 56;
/// of one sample. Chosen: what reads more is no sample of files
inline constexpr std::uint32_t k_most_sample_parts = 256;
/// of what the files of samples may take, for calls for several samples. Chosen: they are of use until a rule is
/// learned
inline constexpr double k_most_at_once_share = 0.5;
inline constexpr std::uint32_t k_most_at_once_parts = 2048;  ///< of a batch. Chosen: as many as are recorded of one

// names_of_samples.cpp
/// samples of which names and files are known. Chosen: digits that agree by chance do not agree so often
inline constexpr std::size_t k_fewest_known_names = 8;
/// of texts and of numbers. Chosen: as many as a rank tells (stallcast_shim/states/names)
inline constexpr std::uint32_t k_most_name_tables = 16;
inline constexpr std::size_t k_most_given_samples = 4096;  ///< Chosen: more make no rule surer
/// of names, with what keeping them takes. Chosen: a quarter of what the files of samples may take
inline constexpr std::size_t k_most_name_bytes = 64ULL << 20U;

// name_rule.cpp
inline constexpr std::uint32_t k_most_name_digits = 12;  ///< of a number in a file's name. Chosen: beyond any data set
/// at the end of an entry, of which a path may be made. Chosen: split, class, group and file of the deepest trees seen
inline constexpr std::uint32_t k_most_name_components = 4;
inline constexpr std::uint32_t k_most_name_words = 5;  ///< of one, the last one's number. Chosen: likewise
inline constexpr std::size_t k_read_names = 16;  ///< samples. Chosen: texts that agree by chance do not agree so often
inline constexpr std::size_t k_most_name_readings = 8;  ///< Chosen: so many kinds of rare samples may there be
/// of one search for rules. Chosen: about a second of the tool's time; a rule takes about as many as the path has
/// characters, and a path of another sample of the same batch as many as they have in common
inline constexpr std::size_t k_most_name_steps = 200'000;

// places_of_samples.cpp
inline constexpr std::uint32_t k_most_place_tables = 8;  ///< as many as a rank tells (stallcast_shim/states/names)
/// Chosen: of fewer, how far one may lie off the others' line is chance
inline constexpr std::size_t k_fewest_known_places = 32;
inline constexpr std::size_t k_most_placed_samples = 20'000;  ///< Chosen: a tenth of a second of the tool's time
/// of tables of numbers. Chosen: as many as a rank tells at a time, often over
inline constexpr std::size_t k_most_placed_entries = 1'000'000;
/// of known samples. Chosen: a fifth of a second of the tool's time
inline constexpr std::size_t k_most_placed_parts = 100'000;
inline constexpr std::size_t k_looked_for_parts = 256;  ///< samples, by which that is estimated. Chosen: within a tenth
inline constexpr std::size_t k_most_own_parts = 16;     ///< of a sample. Chosen: what reads more has no place
/// held for every block. Chosen: a fifth of what a holder can have
inline constexpr std::size_t k_most_common_parts = 4'000;
/// Chosen: twice what Python and C read at once into the buffer of a file
inline constexpr double k_most_off_table_bytes = 16.0 * 1024.0;
/// in any of which a table's place may lie. Chosen: so many times as much is read
inline constexpr std::size_t k_most_files_by_table = 4;
/// of known samples, that read other things than the rest, or that lie before the one whose index is lower. Chosen: a
/// few are seen half, or lie at an end of a file; an order in which so many break it is none
inline constexpr double k_most_unlike_samples = 0.1;
/// of known samples, that lie no farther off their neighbours' line than is allowed for. Chosen: that line is twice as
/// long as theirs who are not known, so the hundredth lies within, too
inline constexpr double k_share_of_places = 0.99;

// fresh_page.cpp
/// Chosen: 512 faults, so that the map itself weighs little
inline constexpr std::size_t k_fresh_bytes = 2 * 1024 * 1024;

// page_holder.cpp
/// Chosen: how soon pages that went, or memory that became short, are seen
inline constexpr int k_hold_look_every_ms = 500;
/// of free memory; an eighth of what is held where that is more. Chosen: with less the kernel begins to end processes
inline constexpr std::uint64_t k_least_left_bytes = 64ULL << 20U;

// read_lumps.cpp
/// of the most that one of a worker's batches read, that another one reads that reads. Chosen: what is read of a file's
/// end or of a list of shards is far less than a shard, and shards differ by less
inline constexpr double k_least_of_lump = 0.1;

// page_residency.cpp
/// asked about at a time where pages are not shown one by one. Chosen: as cold batches drop them (k_granule_bytes)
inline constexpr std::uint64_t k_piece_bytes = 64ULL << 10U;
/// asked about with one call. Chosen: an answer of 16 KiB
inline constexpr std::uint64_t k_mincore_bytes = 64ULL << 20U;

}  // namespace stallcast::collect
