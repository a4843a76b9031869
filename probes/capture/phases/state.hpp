/// What this process is doing in a phased run: the batch it makes, and what that batch has found in the page cache so
/// far. Mapped at the first phased batch, left out of forks.
#pragma once

#include <atomic>
#include <cstdint>

#include "probes/capture/fd_table.hpp"

namespace stallcast::capture {

/// What a phase does with a file that is opened or read.
enum class Treatment : std::uint32_t {
  look,    ///< only asks what is resident (as_is)
  cold,    ///< drops its pages before it is read
  cached,  ///< likewise only asks: the tool holds it. With emulated storage: a hit.
  half,    ///< cold or cached, by a hash
};

/// Evidence of the batch being made; the fields of a PhaseRecord. Several threads may read for one batch.
struct PhaseSeen {
  std::atomic<std::uint32_t> opens;
  std::atomic<std::uint32_t> unknown_opens;
  std::atomic<std::uint64_t> opened_bytes;
  std::atomic<std::uint64_t> resident_bytes;
  std::atomic<std::uint64_t> evicted_bytes;
  std::atomic<std::uint64_t> foreign_bytes;
  std::atomic<std::uint64_t> page_bytes;
  std::atomic<std::uint64_t> largest_file;
};

/// Evidence of a batch that is made from maps of files (phase_maps.hpp); the fields of a MappedRecord.
struct MapsSeen {
  std::uint32_t files;
  std::uint32_t unknown;
  std::uint64_t file_bytes;
  std::uint64_t resident_bytes;
  std::uint64_t evicted_bytes;
  std::uint64_t foreign_bytes;
  std::uint64_t faults_begin;  ///< of this process, before the batch
  bool is_first;               ///< of this process in its segment
};

/// A cold block of a stream has some thousands of marks, and what is forgotten of its way is read from storage twice:
/// of 2^14 slots up to one mark in ten was overwritten. 2 MiB of address space, of which what is used is resident.
inline constexpr std::uint32_t k_range_slots = 1U << 18;
inline constexpr std::uint32_t k_page_slots = 1U << 15;
inline constexpr std::uint32_t k_mover_slots = 64;
inline constexpr std::uint32_t k_told_slots = 1024;

struct PhaseState {
  std::atomic<Treatment> treatment;
  std::atomic<std::uint32_t> seed;
  std::atomic<std::uint32_t> serial;          ///< of the batch, never 0
  std::atomic<std::uint32_t> marks;           ///< serial of the batch from which on it is remembered what was read
  std::atomic<std::uint32_t> is_stream;       ///< 1: of an iterable data set, whose readers go on from batch to batch
  std::atomic<std::uint64_t> read_delay_ns;   ///< slept after each read of a sample
  std::atomic<std::uint64_t> sample_work_ns;  ///< spun at the end of each sample
  std::atomic<std::uint32_t> changing;        ///< 1 while a thread begins a batch

  std::uint32_t phase;
  std::uint32_t segment;
  std::uint64_t iterator_id;
  std::uint64_t batch;
  std::uint64_t storage_begin;  ///< read_bytes of /proc/self/io
  std::uint64_t io_owner;
  std::int32_t io_fd;  ///< 0: not tried yet, -1: not to be had
  PhaseSeen seen;
  MapsSeen maps;
  std::uint32_t unmapped_segment;          ///< its number and 1: the last cold one that began with nothing mapped
  std::atomic<std::uint32_t> evicts_maps;  ///< 1 while a cold batch of mapped data is made
  std::atomic<std::uint32_t> dropping;     ///< 1 while a thread evicts what the maps brought in
  std::uint64_t storage_at_drop;           ///< storage_bytes() then

  std::atomic<std::uint32_t> opened_in[k_tracked_fds];  ///< serial of the batch in which the descriptor was opened
  std::atomic<std::uint64_t> ranges[k_range_slots];     ///< ranges of files asked about, hashed with the serial
  std::atomic<std::uint64_t> pages[k_page_slots];       ///< pages of such files that were read, likewise
  std::atomic<std::uint64_t> movers[k_mover_slots];     ///< keys of such files in which a reader has moved on
  std::atomic<std::uint64_t> told[k_told_slots];        ///< keys of the files of a stream that the tool was told of
};

/// State of this process; nullptr outside phases.
inline PhaseState* phase_state() {
  return process().phase.load(std::memory_order_acquire);
}

}  // namespace stallcast::capture
