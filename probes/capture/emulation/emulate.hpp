/// Emulated storage, as the hooks see it (probes/record/emulation.hpp has the storage itself). A read of a data file is
/// done first, from wherever it comes; then it waits until the emulated storage would have delivered it. What the
/// emulated cache holds does not wait. So storage both slower and faster than the real one can be emulated, the latter
/// as long as the bytes are in memory: a real read that ends after its time is counted as late.
///
/// A data file is a regular file, opened for reading alone, that is no code, and no part of the system or of an
/// interpreter. In batches that a phase makes cold every byte is paid for, in cached ones none is, whatever the
/// emulated cache holds, which such batches leave as it is.
///
/// What goes to storage for a read follows the page cache's own rules, for files whose reader moves on: what is read,
/// and read ahead in windows of up to the device's read_ahead_kb. Not seen and not delayed: reads through maps
/// (counted), io_uring, sendfile, getc() and fscanf().
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "probes/record/emulation.hpp"

namespace stallcast::capture {

/// nullptr: this run emulates nothing.
extern std::atomic<record::EmulationBlock*> g_emulation;

/// Whether this run emulates storage: all that a hook pays where it does not.
inline bool emulating() {
  return __builtin_expect(g_emulation.load(std::memory_order_relaxed) != nullptr, 0);
}

/// Maps the run's emulation if it has one. Before main, in each process.
void map_emulation();

/// What is known about a read before it is done.
struct EmulatedRead {
  int fd;  ///< -1: not of a data file
  off_t offset;
  std::uint64_t begin_ns;
  long waits;  ///< of this thread, for anything, so far
};

inline constexpr EmulatedRead k_not_emulated{-1, 0, 0, 0};

/// `wanted` bytes are about to be read from `offset` of `fd`, or from where it stands (-1).
EmulatedRead before_emulated(int fd, off_t offset, std::size_t wanted);

/// It was read: `bytes` bytes, or (-1) up to where the descriptor stands now. Waits as the emulated storage says.
void after_emulated(const EmulatedRead& read, ssize_t bytes);

/// `fd` was opened on `path`.
void emulate_opened(int fd, const char* path, int flags);

/// `fd` was closed, or is another file now.
void emulate_forgotten(int fd);

/// `copy` is a duplicate of `fd`.
void emulate_copied(int fd, int copy);

/// `bytes` bytes of the file behind `fd` were mapped for reading.
void emulate_mapped(int fd, std::uint64_t bytes);

/// Bytes that reads of this process missed so far: what storage was asked for on its behalf, were it real.
std::uint64_t emulated_miss_bytes();

}  // namespace stallcast::capture
