/// Maps of data files in a phased run: memory-mapped arrays, Arrow tables, LMDB. They are read by page faults, of which
/// no hook hears, so cold is made before the fact. Where batches as found were made of maps and hardly anything else
/// (ControlBlock::maps_read), cold ones are made like this:
///
///   each segment begins with this process's pages of the maps dropped (MADV_DONTNEED) and those of the files evicted,
///   and again wherever 1.6 % of the files came from storage since (samples must not live on what others brought in).
///
/// Pages that another process of the job has mapped stay; it drops its own. What is left when a batch begins is asked
/// and recorded. For cached ones the tool holds all of the files in memory; the page faults of their batches tell.
///
/// Only what cannot hold anything of the guest's is dropped: a shared map that mmap() was seen to make and that
/// /proc/self/maps still shows at its place, of the same file, right before.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "probes/capture/phases/state.hpp"
#include "probes/capture/thread.hpp"

namespace stallcast::capture {

/// Whether maps of data files are known in this process, its parent's included.
bool maps_known();

/// mmap() of a file gave `begin`. In dormant processes too: nobody knows yet whether that will be this run's data.
void map_made(int fd, const void* begin, std::size_t bytes, int protection, int flags, off_t offset);

/// munmap() is about to be called.
void map_gone(const void* begin, std::size_t bytes);

/// A file was opened outside of any batch of a phased run: if none of it is resident, all that will be is this run's.
void claim_opened(int fd);

/// The same of `file`, opened as `fd` while a batch is made. Each file is looked at once in a run: of a large one that
/// is in memory that takes milliseconds.
void claim_absent(int fd, const struct stat& file);

/// A batch begins.
void begin_maps(PhaseState& state, bool is_cold);

/// Tells the tool which files are mapped, each once: no sample is seen to read them, so blocks from memory need all.
void tell_maps(Thread& thread, PhaseState& state);

/// A sample of a cold batch ended.
void maps_at_sample_end(PhaseState& state);

}  // namespace stallcast::capture
