/// Phases, as the hooks see them. While a batch of a phased run is made (phase.h), a file opened for reading
///
///   cold    has its pages dropped from the page cache first, where they are this run's own or all may be dropped,
///   cached  is replaced by its copy in the stage (a folder in memory), where one was made,
///
/// and in every phase it is asked how much of it is resident. A file that stays open from batch to batch (shards, HDF5)
/// is treated range by range at each read instead; cached, read() and pread() of it are served from copies of ranges,
/// the descriptor moving on as usual. Outside a phase a hook pays one relaxed load.
///
/// What a guest can see of a redirected descriptor: fstat() and statx() of it give the copy's device, inode and times
/// (size and content are the file's own), and /proc/self/fd names the copy. stat() by path is untouched, and access
/// times of the file do not move. Records go by the original path.
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

/// Room for <stage folder>/<round>/<identity>.<size>
inline constexpr std::size_t k_stage_path_bytes = 328;

/// The copy that an open is to be served from.
struct StagedCopy {
  std::uint64_t size;
  std::uint64_t device;  ///< of the original
  char path[k_stage_path_bytes];
};

/// Whether this open of `path` is to be served from the stage; the copy itself may still be missing.
bool find_staged(int folder, const char* path, int flags, StagedCopy& copy);

/// `fd` was opened on the copy instead of on the file: counted, and the file's own size and device are recorded.
void staged_opened(int fd, const StagedCopy& copy);

/// `fd` was opened on the file `path` itself: asked about, evicted, remembered, as the phase says.
void file_opened(int fd, const char* path, int flags);

/// What a read is going to ask for.
struct ReadPlan {
  off_t offset;  ///< -1: from where the descriptor stands
  std::size_t bytes;
  void* buffer;  ///< nullptr: several, or libc's own
};

/// Where a read is to be served from instead of from its descriptor.
struct ReadSource {
  int fd;  ///< -1: nowhere else
  off_t offset;
  std::size_t bytes;  ///< that this has to give
};
inline constexpr ReadSource k_no_source{-1, 0, 0};

/// `fd` is about to be read: asked about, evicted, remembered, as the phase says.
ReadSource before_read(int fd, const ReadPlan& plan);

/// Reads as the guest asked, but from the copy; -1 if the copy does not give what it has to.
ssize_t read_copy(const ReadSource& source, int fd, const ReadPlan& plan);

/// A read of a regular file is done.
void after_read();

/// A sample is about to end.
void at_sample_end();

/// A batch begins. In a phased run a batch outside any phase (before the loader is armed, or under way then) is looked
/// at too, and what follows it, without evidence: the pages that it brings in are this run's own.
void at_batch_begin();

/// In half-cached batches the file `id` is cold where this holds and cached otherwise.
bool is_cold_half(std::uint64_t id, std::uint32_t seed);

}  // namespace stallcast::capture
