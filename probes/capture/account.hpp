/// Where I/O is counted: in the thread's open sample, else in its open batch, else in the header's totals.
#pragma once

#include <cstdint>

#include "probes/capture/fd_table.hpp"
#include "probes/capture/thread.hpp"

namespace stallcast::capture {

/// One finished read.
struct ReadEvent {
  int fd;
  FdKind kind;  ///< regular, stream or socket
  std::uint64_t begin_ns;
  std::uint64_t ns;
  std::uint64_t bytes;
  std::uint32_t reads;  ///< 0: served from a buffer of stdio's, bytes only; of a socket, waited for, time only
};

/// Whether anything happens in this process but the call itself.
inline bool awake() {
  return mode() == Mode::dormant || mode() == Mode::live;
}

/// The calling thread if what it does now is to be recorded: process born, records on, not inside our own code.
inline Thread* recording_thread() {
  Thread& thread = t_thread;
  const std::uint32_t generation = process().generation.load(std::memory_order_acquire);
  if (generation == 0 || thread.busy != 0 || !record::recording(process().writer)) return nullptr;
  if (__builtin_expect(thread.generation == generation, 1)) return &thread;
  const Busy busy(thread);
  return attach(thread) ? &thread : nullptr;
}

/// What fstat says of an open descriptor: its kind, and its size for the path record that waits for it.
void learn(int fd, std::uint32_t mode, std::uint64_t size_bytes, std::uint64_t device);

/// The kind of a descriptor that nobody has asked about yet, by one fstat whose answer is remembered.
FdKind classify(int fd);

/// The descriptor's kind, asked for if nobody has yet.
inline FdKind kind_of(int fd) {
  FdEntry* entry = fd_entry(fd);
  const FdKind kind = entry != nullptr ? entry->kind.load(std::memory_order_relaxed) : FdKind::unknown;
  return kind != FdKind::unknown ? kind : classify(fd);
}

/// The id of the file behind `fd`, whose path is recorded in this process; 0: it has no name, or is code that the
/// interpreter loads. Only with the thread busy.
std::uint64_t file_of(Thread& thread, int fd);

/// Whether time spent on metadata has a sample or a batch to go to.
bool counts_metadata(const Thread& thread);

void count_read(Thread& thread, const ReadEvent& event);

/// A read that is not recorded: it may be what brings the process to life.
void count_unrecorded(std::uint64_t bytes);

/// A file was opened for reading.
struct OpenEvent {
  int fd;
  bool unseen;  ///< this process meets it for the first time
  std::uint64_t file_id;
  std::uint64_t begin_ns;
  std::uint64_t ns;  ///< 0 where it was not timed
};
void count_open(Thread& thread, const OpenEvent& event);

/// Time of a failed open, a stat (`stats` 1) or a close.
void count_metadata(Thread& thread, std::uint64_t ns, std::uint32_t stats);

/// A descriptor was closed: writes its file record.
void count_close(Thread& thread, int fd, const FdTotals& totals, std::uint64_t ns);

/// A file was mapped for reading.
void count_mapped(std::uint64_t bytes);

}  // namespace stallcast::capture
