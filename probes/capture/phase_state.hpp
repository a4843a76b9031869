/// What this process is doing in a phased run: the batch it makes, what that batch has found in the page cache so far,
/// and the files that this round has to stage. Mapped at the first phased batch, left out of forks.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstdint>

#include "probes/capture/fd_table.hpp"

namespace stallcast::capture {

/// What a phase does with a file that is opened or read.
enum class Treatment : std::uint32_t {
  look,    ///< only asks what is resident (as_is)
  cold,    ///< drops its pages before it is read
  cached,  ///< opens its staged copy instead, if there is one
  half,    ///< cold or cached, by a hash
};

/// What makes a file the same one as before, content included.
struct FileIdentity {
  std::uint64_t device;
  std::uint64_t inode;
  std::uint64_t modified_ns;
  std::uint64_t size;

  bool operator==(const FileIdentity&) const = default;
};

inline FileIdentity identity_of(const struct stat& file) {
  return {.device = file.st_dev,
          .inode = file.st_ino,
          .modified_ns = static_cast<std::uint64_t>(file.st_mtim.tv_sec) * 1'000'000'000ULL +
                         static_cast<std::uint64_t>(file.st_mtim.tv_nsec),
          .size = static_cast<std::uint64_t>(file.st_size)};
}

/// Evidence of the batch being made; the fields of a PhaseRecord. Several threads may read for one batch.
struct PhaseSeen {
  std::atomic<std::uint32_t> opens;
  std::atomic<std::uint32_t> staged_opens;
  std::atomic<std::uint32_t> unknown_opens;
  std::atomic<std::uint64_t> opened_bytes;
  std::atomic<std::uint64_t> resident_bytes;
  std::atomic<std::uint64_t> evicted_bytes;
  std::atomic<std::uint64_t> foreign_bytes;
  std::atomic<std::uint64_t> page_bytes;
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
};

inline constexpr std::uint32_t k_round_ids = 1U << 15;
inline constexpr std::uint32_t k_round_bytes = 4U << 20;

/// The files that this process opened in this round's cold batches. Bounded: what does not fit is not staged, and the
/// cached block then says of itself that it read from elsewhere.
struct RoundFiles {
  std::atomic<std::uint32_t> used;              ///< bytes of `entries` handed out
  std::uint32_t staged;                         ///< of these, done with
  std::atomic<std::uint64_t> ids[k_round_ids];  ///< of what is in `entries`, so that a file is there once
  alignas(8) char entries[k_round_bytes];
};

/// An open copy of parts of a large file.
struct Shadow {
  std::atomic<std::uint64_t> key;  ///< of file and round; 0: free
  std::atomic<std::int32_t> fd;
  std::atomic<std::uint32_t> round;
};

inline constexpr int k_shadows = 16;
inline constexpr std::uint32_t k_range_slots = 1U << 14;
inline constexpr std::uint32_t k_page_slots = 1U << 15;
inline constexpr std::uint32_t k_mover_slots = 64;

struct PhaseState {
  std::atomic<Treatment> treatment;
  std::atomic<std::uint32_t> seed;
  std::atomic<std::uint32_t> serial;          ///< of the batch, never 0
  std::atomic<std::uint32_t> remembers;       ///< 1: files opened now are what this round stages
  std::atomic<std::uint64_t> read_delay_ns;   ///< slept after each read of a sample
  std::atomic<std::uint64_t> sample_work_ns;  ///< spun at the end of each sample
  std::atomic<std::uint32_t> changing;        ///< 1 while a thread begins a batch

  std::uint32_t phase;
  std::uint32_t segment;
  std::uint64_t iterator_id;
  std::uint64_t batch;
  std::uint64_t storage_begin;  ///< read_bytes of /proc/self/io
  std::uint64_t stage_ns;
  std::uint64_t io_owner;
  std::int32_t io_fd;  ///< 0: not tried yet, -1: not to be had
  std::atomic<std::uint32_t> round_known;
  std::atomic<std::uint32_t> round;
  PhaseSeen seen;
  MapsSeen maps;
  std::uint32_t unmapped_segment;             ///< its number and 1: the last cold one that began with nothing mapped
  std::atomic<std::uint32_t> evicts_maps;     ///< 1 while a cold batch of mapped data is made
  std::atomic<std::uint32_t> dropping;        ///< 1 while a thread evicts what the maps brought in
  std::uint64_t storage_at_drop;              ///< storage_bytes() then
  std::atomic<std::uint32_t> opening_shadow;  ///< 1 while a thread opens one
  Shadow shadows[k_shadows];

  std::atomic<std::uint32_t> opened_in[k_tracked_fds];  ///< serial of the batch in which the descriptor was opened
  std::atomic<std::uint64_t> ranges[k_range_slots];     ///< ranges of files asked about, hashed with the serial
  std::atomic<std::uint64_t> pages[k_page_slots];       ///< pages of such files that were read, likewise
  std::atomic<std::uint64_t> movers[k_mover_slots];     ///< keys of such files in which a reader has moved on
  RoundFiles files;
};

/// State of this process; nullptr outside phases.
inline PhaseState* phase_state() {
  return process().phase.load(std::memory_order_acquire);
}

}  // namespace stallcast::capture
