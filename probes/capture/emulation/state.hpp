/// What the emulation knows about each descriptor. A fixed sparse array, private to the process, inherited by fork.
#pragma once

#include <atomic>
#include <cstdint>

#include "probes/capture/fd_table.hpp"

namespace stallcast::capture {

enum class DataFile : std::uint32_t {
  unknown = 0,  ///< nobody has asked yet
  no = 1,
  unmeasured = 2,  ///< by its name it is one
  yes = 3,
};

/// Relaxed atomics, no order between the fields: threads that share a descriptor cost accuracy, nothing else.
struct EmulatedFile {
  std::atomic<DataFile> data;
  std::atomic<std::uint32_t> serial;  ///< of the batch in which `unit` was decided; 0: outside of phases
  std::atomic<std::uint64_t> key;     ///< hash of device, inode, time of modification and size
  std::atomic<std::uint64_t> device;
  std::atomic<std::uint64_t> inode;
  std::atomic<std::uint64_t> size;
  std::atomic<std::uint64_t> unit;           ///< number of the unit last come to, plus 1; 0: none
  std::atomic<std::uint64_t> fetched_begin;  ///< the stretch that came from storage last, and may be read again
  std::atomic<std::uint64_t> fetched_end;
  std::atomic<std::uint64_t> aside_begin;  ///< the stretch before that, which is not fetched again either
  std::atomic<std::uint64_t> aside_end;
  std::atomic<std::uint64_t> ahead;   ///< most that the page cache reads ahead in it, bytes
  std::atomic<std::uint32_t> window;  ///< bytes last read ahead; 0: the reader has not moved on yet
  std::atomic<std::uint32_t> is_hit;  ///< of `unit`
};

/// The descriptor's; nullptr out of range or without memory.
EmulatedFile* emulated_file(int fd);

/// Forgets which unit the descriptor was at.
void rewind(EmulatedFile& file);

/// Whether the descriptor is of a data file, asked for if nobody has yet.
bool is_data_file(EmulatedFile& file, int fd);

/// What a read asks of the emulated storage.
struct Demand {
  std::uint64_t bytes;
  std::uint64_t requests;
};

/// What has to be fetched for bytes begin..end-1 of a file, of which nothing beyond `limit` is read ahead: what was
/// fetched before stays, a reader that moves on is read ahead for as by Linux' page cache.
///
/// Example, with at most 128 KiB read ahead: a file of 300 KiB read from its beginning, 20 KiB at a time: 64 KiB are
/// fetched for the first read (a window of the next power of two, doubled), which serve the next two; the fourth
/// reaches beyond and fetches 128 KiB, later ones the remaining 108.
Demand fetch(EmulatedFile& file, std::uint64_t begin, std::uint64_t end, std::uint64_t limit);

/// Bytes begin..end-1 came from the cache.
void passed(EmulatedFile& file, std::uint64_t end);

}  // namespace stallcast::capture
