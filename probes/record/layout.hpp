/// The recording: one fixed-layout append-only file per process, in a run folder on a local disk.
///
/// A file is a header page followed by blocks of 64 KiB. A block belongs to one thread, so appending needs no lock:
///
///   | FileHeader 4096 | block 0 (thread 71) | block 1 (thread 72) | block 2 (thread 71) | ...
///   block = | BlockHeader 64 | record | record | ... | unused |
///
/// Worked example. A thread appends a 40-byte record at offset 104 of its block: it stores `reserved` = 144, writes
/// the 40 bytes, stores `committed` = 144 (release). SIGKILL between the two stores leaves reserved 144 and
/// committed 104: the reader takes everything up to 104 and counts one torn tail. A file is a shared map, so what
/// was committed survives the death of its process at any instant. Space is allocated (posix_fallocate) before it is
/// mapped: a full disk is a counted refusal, not SIGBUS in the guest.
///
/// Everything is little-endian, fixed-width and 8-byte aligned. A reader refuses a version newer than its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "probes/record/launcher.hpp"

namespace stallcast::record {

inline constexpr char k_magic[8] = {'S', 'T', 'A', 'L', 'L', 'R', 'E', 'C'};
inline constexpr std::uint32_t k_version = 1;
inline constexpr std::uint32_t k_header_bytes = 4096;
inline constexpr std::uint32_t k_block_bytes = 64 * 1024;
inline constexpr std::uint32_t k_block_magic = 0x4b4c4253;  // "SBLK"
inline constexpr std::uint32_t k_max_text_bytes = 16 * 1024;

static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

/// First page of a recording.
struct FileHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t header_bytes;
  std::uint32_t block_bytes;
  std::uint32_t restart;  ///< elastic restart count, 0 for the first launch
  char run_id[40];        ///< of the run that wrote it, NUL-terminated
  char host[64];          ///< NUL-terminated, cut if longer
  char executable[256];   ///< /proc/self/exe, NUL-terminated, cut if longer
  std::int32_t pid;
  std::int32_t parent_pid;
  std::uint64_t start_monotonic_ns;  ///< CLOCK_MONOTONIC and CLOCK_REALTIME read together: aligns hosts
  std::uint64_t start_realtime_ns;
  std::uint32_t is_fork_child;                 ///< 1 if the process inherited the capture library by fork
  std::uint32_t rank;                          ///< by the environment (launcher.hpp), UINT32_MAX if there is none
  std::atomic<std::uint32_t> blocks;           ///< blocks handed out (each allocated in the file before it is counted)
  std::atomic<std::uint32_t> disabled;         ///< 0, or the DisableReason that ended the recording
  std::atomic<std::uint64_t> dropped_records;  ///< that did not fit into the node's budget or on the disk
  /// Totals of file I/O outside samples, kept here so that they cost no records. Sockets and pipes are apart.
  std::atomic<std::uint64_t> other_read_bytes;
  std::atomic<std::uint64_t> other_read_ns;
  std::atomic<std::uint64_t> other_reads;
  std::atomic<std::uint64_t> other_opens;
  std::atomic<std::uint64_t> stream_read_bytes;  ///< sockets and pipes, in and out of samples
  std::atomic<std::uint64_t> stream_read_ns;
  std::atomic<std::uint64_t> stream_reads;
  std::atomic<std::uint64_t> mapped_bytes;  ///< of regular files mapped with mmap: reads through it are unseen
  std::uint32_t world_size;  ///< ranks of the job by the environment; 0: not known (older recordings, too)
  std::uint32_t elastic;     ///< 1: an agent started it that starts all ranks anew when one fails
  char job[k_job_bytes];     ///< "NAME=value" by which its launcher names the job; empty: it does not
};
static_assert(sizeof(FileHeader) <= k_header_bytes);

enum class DisableReason : std::uint32_t { none = 0, no_space = 1, budget = 2, failed = 3, other_version = 4 };

struct BlockHeader {
  std::uint32_t magic;
  std::uint32_t thread_id;
  std::atomic<std::uint32_t> reserved;   ///< offset in the block, BlockHeader included, up to which bytes were begun
  std::atomic<std::uint32_t> committed;  ///< offset up to which records are whole
  std::uint64_t unused[6];
};
static_assert(sizeof(BlockHeader) == 64);

enum class Kind : std::uint16_t {
  text = 1,    ///< JSON text of TextKind `aux`, NUL-padded to 8 bytes
  wait = 2,    ///< the consumer asked for a batch and got it
  step = 3,    ///< an optimizer step (or the C API's step mark)
  batch = 4,   ///< a batch was made, in a worker or in the main process
  sample = 5,  ///< one sample of a batch was made, and timed
  file = 6,    ///< I/O on one file within one sample (or outside samples, at close)
  path = 7,    ///< first sight of a file in this process: its name and size
  thread =
      8,      ///< a RecordHeader alone; aux: from here on the block's records are of this thread (it took over a spare)
  phase = 9,  ///< what a batch of a phased run found in the page cache, written after its batch record
  part = 10,  ///< an operator of a timed sample, or of collating: its own time
  mapped = 11,    ///< what such a batch found of the files that its process has mapped, written after its phase record
  received = 12,  ///< what came over the network for a batch, written before its batch record
  touched = 13,   ///< in a measured run: what a sample of known index reads, timed or not
};

/// Every record starts with this. `bytes` is the size of the whole record, a multiple of 8.
struct RecordHeader {
  std::uint16_t kind;
  std::uint16_t bytes;
  std::uint32_t aux;  ///< meaning depends on the kind; 0 where none is given
};
static_assert(sizeof(RecordHeader) == 8);

/// What a text record's JSON describes. Schemas stand with their writers (shim, C API).
enum class TextKind : std::uint32_t {
  process = 1,   ///< {"role":"consumer|worker", "python", "torch", "threads", ...}
  loader = 2,    ///< {"loader_id", "kind", "batch_size", "num_workers", ...}: one loader object
  iterator = 3,  ///< {"iterator_id", "loader_id", "epoch", "worker_pids":[...]}: one pass over it
  issue = 4,     ///< {"id", "severity", "detail", "hint"}
  mark = 5,      ///< {"what":"evaluation|checkpoint|compile|...", "begin_ns", "end_ns"}
  segment =
      6,  ///< {"segment","phase","round","iterator_id","first","batches","workers","at_once","made_as","argument",
          ///< "t_ns","iterable","stream"}: from batch `first` of that pass on; written anew in each pass that it goes
          ///< on in
  burst = 8,  ///< how a hold and burst went, written after it: see BurstRun (analyzer/blocks/blocks.hpp)
  ahead = 9,  ///< {"serial", "turn", "indices":[[...], ...]}: index lists from that turn on; the last answer to a
              ///< serial has "done":true, and "refused":"why" where there is no telling
  part = 7,   ///< {"parts":[[number, name, where], ...]}: what part records of this process stand for
};

/// Wait flags.
inline constexpr std::uint32_t k_wait_end_of_epoch = 1;  ///< StopIteration: no batch was delivered
inline constexpr std::uint32_t k_wait_first = 2;         ///< first batch of an iterator: start-up included

struct WaitRecord {
  RecordHeader header;  ///< aux: flags
  std::uint64_t iterator_id;
  std::uint64_t batch;     ///< 0-based number of the batch within its iterator
  std::uint64_t begin_ns;  ///< CLOCK_MONOTONIC: the consumer asked
  std::uint64_t end_ns;    ///< and had the batch, and had let go of the one before (hooks_map.cpp)
  std::uint32_t samples;   ///< in the batch; 0 if not known
  std::uint32_t ready;     ///< batches that had arrived and were not delivered yet; UINT32_MAX if not known
  std::uint64_t cpu_ns;    ///< CPU clock of the consuming process (all threads) at end_ns; 0 if not read
};

struct StepRecord {
  RecordHeader header;
  std::uint64_t step;     ///< 0-based count of steps in this process
  std::uint64_t time_ns;  ///< CLOCK_MONOTONIC at the end of the step call
};

/// I/O totals of one sample or batch. Reads are of regular files and of sockets of the network (ReceivedRecord says how
/// much of a batch these were); pipes do not count here.
struct IoTotals {
  std::uint64_t read_ns;  ///< wall time inside reads
  std::uint64_t read_bytes;
  std::uint64_t meta_ns;  ///< wall time inside open, stat and close
  std::uint32_t reads;
  std::uint32_t opens;
  std::uint32_t stats;
  std::uint32_t major_faults;  ///< of this thread; only in batch totals (mapped files are read this way)
};
static_assert(sizeof(IoTotals) == 40);

struct BatchRecord {
  RecordHeader header;         ///< aux: worker id, UINT32_MAX for the main process
  std::uint64_t iterator_id;   ///< main process: as in wait. Worker: its n-th pass (0, 1, ...), joined through its pid
  std::uint64_t batch;         ///< as in wait
  std::uint64_t asked_ns;      ///< the maker began to wait for the index list; 0 where there is no queue
  std::uint64_t begin_ns;      ///< index list in hand
  std::uint64_t collate_ns;    ///< wall time in collate_fn
  std::uint64_t end_ns;        ///< batch made (collated)
  std::uint64_t put_ns;        ///< handed to the queue's feeder; 0 where there is no queue
  std::uint64_t cpu_ns;        ///< CPU time of the making thread from begin to end, and of children that ended then
  std::uint64_t run_delay_ns;  ///< time that thread was runnable but not running from begin to end (schedstat);
                               ///< UINT64_MAX: unknown
  IoTotals io;
  std::uint32_t samples;
  std::uint32_t timed;      ///< samples whose I/O was timed; the times in `io` of the others are estimated from theirs
  std::uint64_t system_ns;  ///< of the making thread's CPU time, in the kernel: by its clock's ticks, so of use summed
                            ///< over many batches; 0 in older recordings
};

/// Bytes of a BatchRecord before it got `system_ns`.
inline constexpr std::size_t k_least_batch_bytes = sizeof(BatchRecord) - sizeof(std::uint64_t);

struct SampleRecord {
  RecordHeader header;  ///< aux: low 32 bits of the batch number
  std::int64_t index;   ///< the sample's index; -1 if it is not an integer
  std::uint64_t begin_ns;
  std::uint64_t wall_ns;
  std::uint64_t read_ns;
  std::uint64_t meta_ns;
  std::uint64_t read_bytes;
  std::uint32_t reads;
  std::uint16_t opens;
  std::uint16_t
      period;  ///< one sample in so many was timed then, those of which sample_hash(index) is a multiple of it
};
static_assert(sizeof(SampleRecord) == 64);

/// What chooses the samples that are timed: the finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
constexpr std::uint64_t sample_hash(std::int64_t index) {
  std::uint64_t mixed = static_cast<std::uint64_t>(index) + 0x9e3779b97f4a7c15ULL;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
  return mixed ^ (mixed >> 31);
}

/// Numbers of parts that need no text; the others begin behind them.
inline constexpr std::uint32_t k_part_sample = 1;   ///< what is left of a sample: decoding, loading
inline constexpr std::uint32_t k_part_collate = 2;  ///< what is left of a collate
inline constexpr std::uint32_t k_first_named_part = 16;

/// Part flags.
inline constexpr std::uint16_t k_part_in_collate = 1;  ///< its whole is a collate, not a sample

/// One call of an operator (a transform) inside a timed sample or a collate, or what these themselves did beside their
/// operators. Times are its own: without the parts inside it, without reads, and without what measuring costs.
struct PartRecord {
  RecordHeader header;     ///< aux: number of the part, as its text says
  std::uint64_t whole_ns;  ///< begin of the sample (SampleRecord.begin_ns), or of the collate
  std::uint64_t wall_ns;
  std::uint64_t cpu_ns;   ///< of this thread
  std::uint64_t read_ns;  ///< reads, opens and stats that fell into it
  std::uint16_t flags;
  std::uint16_t period;     ///< one sample in so many was divided then, chosen as SampleRecord.period says
  std::uint32_t undivided;  ///< of a whole: calls in it that were too many to be recorded; their time is the whole's
};
static_assert(sizeof(PartRecord) == 48);

struct FileRecord {
  RecordHeader header;     ///< aux: reads
  std::uint64_t file_id;   ///< hash of the path as opened
  std::uint64_t begin_ns;  ///< of the open or of the first read
  std::uint64_t read_ns;
  std::uint64_t read_bytes;
  std::uint64_t meta_ns;
};

/// Evidence of one batch made in a phase: whether its bytes came from where the phase says.
struct PhaseRecord {
  RecordHeader header;        ///< aux: index of the segment
  std::uint64_t iterator_id;  ///< as in BatchRecord
  std::uint64_t batch;        ///< as in BatchRecord
  std::uint32_t phase;
  std::uint32_t opens;           ///< of regular files for reading
  std::uint32_t unused_opens;    ///< 0
  std::uint32_t unknown_opens;   ///< of these, residency could not be asked for (file system, kernel)
  std::uint64_t opened_bytes;    ///< sizes of the files opened
  std::uint64_t resident_bytes;  ///< of these, in the page cache at the open (cold: after eviction)
  std::uint64_t evicted_bytes;   ///< dropped from the page cache at the open
  std::uint64_t foreign_bytes;   ///< resident, not brought in by this run, and therefore left alone
  std::uint64_t storage_bytes;   ///< read_bytes of /proc/self/io over the batch; UINT64_MAX: not readable
  std::uint64_t largest_file;    ///< size of the largest file that was opened; 0: of none, or an older recording
  std::uint64_t page_bytes;      ///< of the files' pages that were read, each counted once; 0 in older recordings
};

/// Bytes of a PhaseRecord before it got `page_bytes`.
inline constexpr std::size_t k_least_phase_bytes = sizeof(PhaseRecord) - sizeof(std::uint64_t);

/// A batch that read() gave more of, per sample, is not made of what is mapped.
inline constexpr std::uint64_t k_hardly_read_bytes = 1024;

/// Of the bytes that are opened or mapped, that may be resident when a cold batch begins.
inline constexpr double k_most_resident_if_cold = 0.02;

/// What a batch found of the files that its process has mapped: reads of these are page faults, which nobody records.
struct MappedRecord {
  RecordHeader header;        ///< aux: index of the segment
  std::uint64_t iterator_id;  ///< as in BatchRecord
  std::uint64_t batch;        ///< as in BatchRecord
  std::uint32_t files;
  std::uint32_t unknown_files;   ///< of these, residency could not be asked for; and maps that are too many to be kept
  std::uint64_t file_bytes;      ///< sizes of these files
  std::uint64_t resident_bytes;  ///< of these, in the page cache when a cold batch began (after eviction); else 0
  std::uint64_t evicted_bytes;   ///< dropped from the page cache then
  std::uint64_t foreign_bytes;   ///< resident, not brought in by this run, and therefore left alone
  std::uint64_t major_faults;    ///< page faults of this process over the batch that waited for storage
};

/// A sample of which less came over the network is made of something else.
inline constexpr std::uint64_t k_received_bytes = 64;

/// What came over the network while a batch was made, in its IoTotals as well. These hold the time inside recv and
/// poll; a client of several threads waits elsewhere.
struct ReceivedRecord {
  RecordHeader header;        ///< aux: calls of recv and read
  std::uint64_t iterator_id;  ///< as in BatchRecord
  std::uint64_t batch;        ///< as in BatchRecord
  std::uint64_t bytes;
};

/// The index in records of what is read by one call for several samples: a number of all of theirs, FNV-1a of them,
/// below -1. -1 where there are none.
class AtOnceIndex {
 public:
  constexpr void add(std::int64_t index) {
    hash_ = (hash_ ^ static_cast<std::uint64_t>(index)) * 0x100000001b3ULL;
    any_ = true;
  }
  [[nodiscard]] constexpr std::int64_t value() const { return any_ ? -2 - static_cast<std::int64_t>(hash_ >> 2U) : -1; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325ULL;
  bool any_ = false;
};
constexpr bool is_at_once(std::int64_t index) {
  return index < -1;
}

/// A sample reads this part of a file: what has to be in memory for the sample to be.
struct TouchedRecord {
  RecordHeader header;
  std::int64_t index;     ///< of the sample; -1: of a stream, whose samples have none (once a file and process);
                          ///< is_at_once(): of several samples
  std::uint64_t file_id;  ///< as in PathRecord
  std::uint64_t offset;
  std::uint64_t bytes;  ///< UINT64_MAX: to the end of the file
};

/// Followed by the path, NUL-padded to a multiple of 8.
struct PathRecord {
  RecordHeader header;  ///< aux: length of the path in bytes
  std::uint64_t file_id;
  std::uint64_t size_bytes;  ///< st_size; UINT64_MAX if nobody asked for it
  std::uint64_t device;      ///< st_dev; 0 if nobody asked for it
};

}  // namespace stallcast::record
