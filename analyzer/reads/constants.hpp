/// What this room takes for much and little: thresholds and tolerances, with what set them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stallcast {

// dataset.cpp

/// Bytes of a file, below which it is small: what Linux reads ahead by default (read_ahead_kb = 128), so that one
/// request brings it.
inline constexpr std::uint64_t k_small_file_bytes = 128 * 1024;
/// Samples for each file, beyond which files are shards. Chosen: a few samples may be cut out of one file (crops,
/// clips), a shard holds hundreds. Held by "many epochs over few files are no shards" and "many samples in few files
/// are shards" (tests/analyzer/reads/dataset_test.cpp).
inline constexpr std::int64_t k_most_samples_per_own_file = 8;
/// Samples for each file, drawn at random, from which no file was missed: one in e^20 is still to be seen.
inline constexpr std::int64_t k_samples_per_file_none_missed = 20;
/// Of the bytes read, that lie below the data set's folder. Chosen: the rest is an index or a library's own data; all
/// of them would lead to the root. Held by "the folder of a data set holds nearly all of its files" (same test).
inline constexpr double k_bytes_below_folder = 0.95;
/// Of the bytes of all files, from which those of one format name the data set's: the most of all.
inline constexpr double k_main_format = 0.5;
/// Bytes of files that one worker has mapped, from which data are read through maps where read() gives hardly any.
/// Chosen: less is an index or a table of words. Held by "what hardly is read, and is mapped by workers, is read
/// through maps" (tests/analyzer/reads/dataset_test.cpp).
inline constexpr std::uint64_t k_mapped_are_data = 10'000'000;
/// Times what its samples' own reads give, from which a batch was also read for by other threads. Chosen: an index that
/// is read once a batch is less. Held by "what threads of its own read for a sample is told of its batch"
/// (tests/analyzer/reads/dataset_bytes_test.cpp).
inline constexpr double k_read_aside_of_samples = 1.25;

// files_read.cpp

/// Of the bytes read, from which Python's own files are the data and no imports. Held by "source code can be data"
/// (tests/analyzer/reads/dataset_bytes_test.cpp).
inline constexpr double k_imports_are_data = 0.5;
/// Batches of a process, from the first one on, in which it may still import what it needs. Chosen: the first needs the
/// data set's modules, the second what the loader's own clean-up does. Held by "imports are no data where data are
/// mapped" (tests/analyzer/reads/dataset_test.cpp).
inline constexpr std::size_t k_batches_that_import = 2;
/// Of the bytes of modules, from which on they are read after that: data are read all along. Held by the same test.
inline constexpr double k_imported_later = 0.1;

// network.cpp

/// Of the bytes that a sample is read from, from which data that are received are the job's data. Chosen: metadata and
/// credentials of an object store are less than what is read of its files.
inline constexpr double k_received_are_data = 0.5;

// from_storage.cpp

/// Bytes of files for a sample, below which it was not made of them: less than any sample's header. Chosen, since what
/// comes over the network or through maps is in no read.
inline constexpr double k_least_file_bytes_of_sample = 256.0;
/// Of the bytes read, or of those that may come through maps, up to which maps do not matter. Chosen: as much as may
/// come from storage in a run that is called cached (k_cached_run_from_storage of analyzer/stalls).
inline constexpr double k_hardly_mapped = 0.02;
/// Of the bytes read, from which all of them came over the network. Chosen: a sample's header or label may lie in a
/// file.
inline constexpr double k_all_received = 0.98;

// page_cache.cpp: hits by epoch, from counts at the tool's ticks. tests/analyzer/reads/page_cache_test.cpp has each
// case.

/// Ticks in an epoch, for its hits to be told: what its two end ticks blur is a few percent of it.
inline constexpr std::int64_t k_fewest_ticks_for_hits = 10;
/// Of an epoch whose begin was not seen, the batches that may have been prefetched before. Chosen: as much as is
/// blurred.
inline constexpr double k_most_ahead_of_epoch = 0.05;
/// Of the bytes of the longest epoch, from which an epoch is a whole one. Chosen: the run may have ended within the
/// last, and the part of one has other hits; lengths differ by what the ticks blur.
inline constexpr double k_whole_epoch = 0.97;
/// Epochs whose spread gives an interval: the fewest that have one.
inline constexpr std::int64_t k_fewest_epochs_for_interval = 2;
/// Times the data set, that memory must have room for to hold it. Chosen: the job's own memory and other files' pages
/// lie there, too.
inline constexpr double k_room_that_fits = 1.1;
/// Of a data set that fits, the least that comes from memory after the first epoch, below which a warning is due.
/// Chosen: a few pages are always taken away.
inline constexpr double k_kept_if_it_fits = 0.9;

// states.cpp: a run as found whose epochs lie in different states.

/// Of an epoch's bytes, from which they came from storage. Chosen: read-ahead and the pages of the epoch before blur
/// it.
inline constexpr double k_epoch_from_storage = 0.9;
/// Of an epoch's bytes, up to which storage gave none to speak of. Chosen: as far from the other end.
inline constexpr double k_epoch_from_memory = 0.1;
/// Of the bytes of a state, from which its rate is that of the cold state: as strict as with a run that was found cold
/// (k_cold_run_from_storage of analyzer/stalls).
inline constexpr double k_cold_state = 0.95;
/// States that a run may have. Chosen: more are no states, but a cache that comes and goes.
inline constexpr std::size_t k_most_states = 3;
/// Ticks in an epoch, for its state to be told: fewer than for its hits, as only storage or memory is asked.
inline constexpr std::int64_t k_fewest_ticks_for_state = 4;

// unseen.cpp: reading that no read() shows. tests/analyzer/reads/{dataset_bytes,own_loop}_test.cpp hold the cases.

/// Bytes from storage, or in maps, from which it matters how they were read. Chosen: libraries that are loaded late are
/// less. The warning reads-unseen has the same.
inline constexpr double k_much_unseen_bytes = 1e7;
/// Of the bytes from storage, below which read() gave hardly any. Chosen: labels and indices are read beside what is
/// mapped.
inline constexpr double k_hardly_read = 0.10;
/// Of what makers read, in the second half of the time, from which reading goes on. Chosen: half of a steady reading
/// lies there; what is loaded once, late, is over by then.
inline constexpr double k_sustained_reading = 0.25;
/// Of a loop function's time, from which it is blocked for something that is not seen. Chosen: locks and stops of a
/// busy machine are less, a function that hands over what threads made is blocked most of the time.
inline constexpr double k_most_blocked_in_function = 0.20;
/// Of the median batch's time, below which only few batches were blocked. Chosen: on a busy machine threads are stopped
/// now and then, in a function that waits each batch shows it.
inline constexpr double k_typical_batch_blocked = 0.05;
/// Of its time that a function waited for a core, from which the machine is busy and the median decides. Chosen: below
/// it, k_most_blocked_in_function cannot be the stops of a busy machine.
inline constexpr double k_busy_function = 0.10;
/// Batches without a page fault from storage, from which their mean tells what a function waits for apart from reading.
inline constexpr std::int64_t k_fewest_without_faults = 8;

// read_beside.cpp
/// Of what a sample takes, that is read while its batch is made; with less readers read far ahead. Chosen: shards'
/// samples differ in size by less, and what the first batches of a pass read is left out
inline constexpr double k_most_read_beside = 0.5;
/// Chosen: a worker's first batches may hold what it had read for several
inline constexpr std::size_t k_fewest_batches_read_beside = 50;
/// Of the batches, that say how many samples they hold. Chosen: those that an ending run leaves unfinished do not
inline constexpr double k_most_batches_counted = 0.95;

}  // namespace stallcast
