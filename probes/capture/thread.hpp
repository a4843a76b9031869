/// What one thread is in the middle of: its wait, its batch, its sample, the files of that sample. Static TLS, so that
/// a hook reaches it in one instruction and never allocates.
#pragma once

#include <cstdint>

#include "probes/capture/process.hpp"

namespace stallcast::capture {

/// I/O on one file within the open sample, written as one file record.
struct FileInSample {
  std::uint64_t file_id;  ///< 0: free
  std::uint64_t begin_ns;
  std::uint64_t read_ns;
  std::uint64_t read_bytes;
  std::uint64_t meta_ns;
  std::uint32_t reads;
  std::int32_t fd;
};

inline constexpr int k_files_in_sample = 4;

/// Part of a file that the open sample has read, and that no record tells of yet (touched.hpp). file_id 0: none.
struct TouchedRange {
  std::uint64_t file_id;
  std::uint64_t begin;
  std::uint64_t end;
};

inline constexpr std::uint32_t k_touched_at_once = 4;

struct Sample {
  std::uint32_t depth;     ///< nested begins; the outermost counts
  std::uint32_t recorded;  ///< 1 if records were on at its begin
  std::uint32_t untimed;   ///< 1: its calls are counted, not timed (timing.hpp)
  std::uint32_t unseen;    ///< of its files, those met for the first time
  std::int64_t index;
  std::uint64_t begin_ns;
  record::IoTotals io;
  FileInSample files[k_files_in_sample];
  std::int64_t touched_index;  ///< of the records of what it touches
  std::uint32_t touches;       ///< 1: these are written
  std::uint32_t touched;       ///< so many were
  std::uint32_t wholes;        ///< written to `whole_files` so far
  std::uint32_t next_range;    ///< of `ranges`, to be written next where all are taken
  std::uint64_t whole_files[k_touched_at_once];
  TouchedRange ranges[k_touched_at_once];
};

/// CPU clock, run delay and major faults of a thread at one moment.
struct Usage {
  std::uint64_t cpu_ns;
  std::uint64_t process_cpu_ns;     ///< of all threads of the process
  std::uint64_t ended_children_ns;  ///< CPU time of the process's children that ended and were waited for
  std::uint64_t run_delay_ns;       ///< UINT64_MAX: not readable here
  std::uint64_t system_ns;          ///< of cpu_ns, in the kernel: by the clock's ticks, scaled
  std::uint64_t major_faults;
};

struct Batch {
  std::uint32_t open;
  std::uint32_t recorded;  ///< 1 if records were on at its begin
  std::uint32_t helped;    ///< 1: what other threads of this process do meanwhile is its own (helpers.hpp)
  std::uint32_t worker;
  std::uint64_t iterator_id;
  std::uint64_t number;
  std::uint64_t asked_ns;
  std::uint64_t begin_ns;
  std::uint64_t collate_begin_ns;
  std::uint64_t collate_ns;
  Usage at_begin;
  record::IoTotals io;
  std::uint64_t received_bytes;  ///< over the network; in `io` as well
  std::uint32_t receives;
  std::uint32_t samples;  ///< complete, recorded
  std::uint32_t timed;    ///< of these, timed; the sums below are theirs
  std::uint64_t timed_wall_ns;
  std::uint64_t timed_read_ns;
  std::uint64_t timed_meta_ns;
};

/// What decides which samples are timed (timing.hpp): running means over this thread's batches.
struct Pace {
  std::uint32_t period;  ///< one sample in so many is timed; 0 or 1: all
  std::uint32_t without_index;
  std::uint64_t timed;  ///< samples timed so far
  double sample_ns;
  double read_ns;  ///< of a sample
  double meta_ns;
  double blocked_share;  ///< of the making time
};

struct PartStack;

struct Thread {
  std::uint32_t generation;  ///< of the process it is attached to
  std::uint32_t busy;        ///< inside our code, or inside a libc call that we time as a whole
  record::Appender out;
  std::int32_t vfork_parent;         ///< our pid if this thread has called vfork since; see owns_memory()
  std::int32_t schedstat_fd;         ///< of this thread, kept open; 0: not tried yet, -1: not to be had
  std::uint32_t run_delay_read;      ///< 1: the next two are known
  std::uint64_t run_delay_switches;  ///< context switches of this thread when its run delay was read
  std::uint64_t run_delay_ns;
  std::uint64_t wait_begin_ns;
  Batch batch;
  Sample sample;
  Pace pace;
  /// Records of the current block whose last field is not known yet; nullptr once it is or the block is full.
  record::BatchRecord* unput_batch;
  record::WaitRecord* open_wait;  ///< the batch before it may still be released
  record::PathRecord* unsized_path;
  std::int32_t unsized_fd;
  PartStack* parts;  ///< nullptr until this thread's first timed sample (parts.hpp)
};

extern thread_local constinit Thread t_thread __attribute__((tls_model("initial-exec")));

/// Marks the calling thread as inside our code for a scope: what a signal handler or a libc calls meanwhile passes by.
class Busy {
 public:
  explicit Busy(Thread& thread) : thread_(thread) {
    ++thread_.busy;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~Busy() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    --thread_.busy;
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  Thread& thread_;
};

/// Attaches the thread to this process, which is born if need be. False: not recorded. Only with the thread busy.
bool attach(Thread& thread);

/// True if the thread belongs to the living process; attaches it otherwise. Only with the thread busy.
inline bool attached(Thread& thread) {
  const std::uint32_t generation = process().generation.load(std::memory_order_acquire);
  return (generation != 0 && thread.generation == generation) || attach(thread);
}

/// The calling thread if a call of the C API is to do anything in this process, which is born by it if need be.
inline Thread* enter_api() {
  if (mode() == Mode::off) return nullptr;
  Thread& thread = t_thread;
  if (thread.busy != 0) return nullptr;
  const Busy busy(thread);
  return attached(thread) ? &thread : nullptr;
}

/// Room for a record of type `Record` with `extra` bytes behind it; nullptr if it was dropped. Only with the thread
/// busy.
template <class Record>
Record* reserve(Thread& thread, record::Kind kind, std::uint32_t aux, std::uint32_t extra = 0) {
  const record::BlockHeader* block = thread.out.block;
  void* room =
      record::reserve(process().writer, thread.out, kind, aux, static_cast<std::uint32_t>(sizeof(Record)) + extra);
  if (thread.out.block != block) {  // the records that these point at are no longer mapped
    thread.unput_batch = nullptr;
    thread.open_wait = nullptr;
    thread.unsized_path = nullptr;
  }
  return static_cast<Record*>(room);
}

/// Asks the kernel whether this is the process that called vfork, or its child.
bool is_past_vfork(Thread& thread);

/// False in the child of a vfork, which borrows our memory while its descriptors are its own: what it opens and closes
/// must not be taken for its parent's doing.
inline bool owns_memory(Thread& thread) {
  return __builtin_expect(thread.vfork_parent == 0, 1) || is_past_vfork(thread);
}

/// The thread's Usage now: three system calls.
Usage usage_now(Thread& thread);

/// CPU time of the process's children that ended between the two and that no other batch has been given.
std::uint64_t claim_children_ns(const Usage& begin, const Usage& end);

/// Closes what usage_now() keeps open.
void close_usage(Thread& thread);

}  // namespace stallcast::capture
