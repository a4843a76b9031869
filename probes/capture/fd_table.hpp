/// What is known about each descriptor of the process: which file, what kind, and what was read from it outside
/// samples. A fixed sparse array (3 MiB of address space, a page touched per 85 descriptors), inherited by fork.
#pragma once

#include <atomic>
#include <cstdint>

#include "probes/capture/process.hpp"

namespace stallcast::capture {

inline constexpr int k_tracked_fds = 65536;

enum class FdKind : std::uint8_t {
  unknown,  ///< nobody has asked yet
  regular,
  stream,   ///< pipes, and sockets within the machine
  socket,   ///< of the network (AF_INET, AF_INET6), the machine's own address included
  ignored,  ///< devices, directories, /proc and /sys, files open for writing only
  ours,     ///< kept open by the capture library
};

/// One descriptor. Written by whichever thread uses it: relaxed atomics, no order between the fields.
struct FdEntry {
  std::atomic<std::uint64_t> file_id;   ///< 0: path not known
  std::atomic<std::uint64_t> begin_ns;  ///< first read outside a sample, of the totals below
  std::atomic<std::uint64_t> read_ns;
  std::atomic<std::uint64_t> read_bytes;
  std::atomic<std::uint32_t> reads;
  std::atomic<std::uint32_t> generation;  ///< of the process that the totals and the path record belong to
  std::atomic<FdKind> kind;
  std::atomic<std::uint8_t> unlisted;  ///< 1: counts in totals, but gets no file record of its own (imports)
  std::atomic<std::uint8_t> code;      ///< 1: an import, whether listed or not
};

/// What close() leaves of an entry.
struct FdTotals {
  FdKind kind;
  bool listed;
  std::uint64_t file_id;
  std::uint64_t begin_ns;
  std::uint64_t read_ns;
  std::uint64_t read_bytes;
  std::uint32_t reads;
};

extern std::atomic<FdEntry*> g_fd_table;

/// Maps the table; nullptr without memory.
FdEntry* map_fd_table();

/// The entry of a descriptor; nullptr out of range or without memory.
inline FdEntry* fd_entry(int fd) {
  if (fd < 0 || fd >= k_tracked_fds) return nullptr;
  FdEntry* table = g_fd_table.load(std::memory_order_acquire);
  if (__builtin_expect(table == nullptr, 0)) table = map_fd_table();
  return table != nullptr ? &table[fd] : nullptr;
}

/// The kind of the open descriptor `fd`, of which stat(2) said that it has this mode.
FdKind kind_of_mode(int fd, std::uint32_t mode);

/// Remembers the descriptor's kind.
void set_kind(int fd, FdKind kind);

/// A new file is behind the descriptor.
void set_fd(int fd, FdKind kind, std::uint64_t file_id, bool listed);

/// What is behind the descriptor is code that the interpreter loads.
void mark_code(int fd);
bool is_code(int fd);

/// Forgets the descriptor, before it is closed (afterwards another thread may have it again), and says what it was.
FdTotals take_fd(int fd);

/// `copy` is a duplicate of `fd`: the same file, totals of its own.
void copy_fd(int fd, int copy);

/// Forgets first..last.
void forget_fds(unsigned first, unsigned last);

}  // namespace stallcast::capture
