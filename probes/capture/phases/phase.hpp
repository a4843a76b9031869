/// Phases, as the hooks see them. While a batch of a phased run is made (phase.h), a file opened for reading
///
///   cold    has its pages dropped from the page cache first, where they are this run's own or all may be dropped,
///   cached  is left as it is: the tool holds it in the page cache (collect/pages/page_holder.hpp),
///
/// and in every phase it is asked how much of it is resident. A file that stays open from batch to batch (shards, HDF5)
/// is treated range by range at each read instead. What a sample of known index reads is recorded, so that the tool
/// knows what to hold when that sample comes again (touched.hpp). Outside a phase a hook pays one relaxed load.
///
/// The guest's descriptors, bytes and positions are its own throughout.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "probes/capture/process.hpp"

namespace stallcast::capture {

/// Whether this process is making a batch of a phased run.
inline bool in_phase() {
  return __builtin_expect(process().in_phase.load(std::memory_order_relaxed) != 0, 0);
}

/// A larger file is one that samples are parts of: asked about and evicted by what is read of it.
inline constexpr std::uint64_t k_whole_phase_file = 64ULL << 20;

/// `fd` was opened on the file `path`: asked about, evicted, recorded, as the phase says.
void file_opened(int fd, const char* path, int flags);

/// What a read is going to ask for.
struct ReadPlan {
  off_t offset;  ///< -1: from where the descriptor stands
  std::size_t bytes;
};

/// `fd` is about to be read: asked about, evicted, recorded, as the phase says.
void before_read(int fd, const ReadPlan& plan);

/// A read of a regular file is done.
void after_read();

/// A sample is about to end.
void at_sample_end();

/// A batch begins. In a phased run a batch outside any phase (before the loader is armed, or under way then) is looked
/// at too, and what follows it, without evidence: the pages that it brings in are this run's own.
void at_batch_begin();

}  // namespace stallcast::capture
