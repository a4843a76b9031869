/// The control block: one file per run and node, mapped by the tool and by every process of the job.
///
/// The tool writes the header's switches and the schedule; each consuming process (rank) writes its own cache line.
/// Nobody waits for anybody: fixed-width atomics, no mutex, and a reader that finds another magic or a newer ABI
/// leaves it alone. The file lies in the run folder named by STALLCAST_RUN_DIR as `control`.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace stallcast::record {

inline constexpr char k_control_magic[8] = {'S', 'T', 'A', 'L', 'L', 'C', 'T', 'L'};
inline constexpr std::uint32_t k_control_abi = 7;  ///< also in python/stallcast/_live.py and tests/shim/harness.py
inline constexpr std::uint32_t k_max_ranks = 64;   ///< consuming processes of one node
inline constexpr std::uint32_t k_max_segments = 8192;

/// Names of the environment that carries a run into the job's processes.
inline constexpr char k_env_run_dir[] = "STALLCAST_RUN_DIR";
inline constexpr char k_control_file[] = "control";

enum class RunMode : std::uint32_t { passive = 1, phased = 2 };

/// What a stretch of batches measures. Names as in the profile (phase_name).
enum class Phase : std::uint32_t {
  as_is = 0,
  cold = 1,
  cached = 2,
  synthetic = 3,
  supply_cached = 4,
  supply_cold = 5,
  half_cached = 6,
  perturb_read = 7,
  perturb_cpu = 8,
  first_touch = 9,  ///< never scheduled: a cold block without proof, whose samples this run had not read before
  end = 15,         ///< not a measurement: the run ends before this turn
};

/// A stretch of *turns*: the batches that the script takes from the armed loader, counted over all its passes. Each is
/// the script's own next batch; a segment says in which state it is made and handed over.
///
/// `synthetic` is a hold and a burst: when the script asks for turn `first` it waits until what is under way is made,
/// then gets it at once while no worker is given anything. Nothing of turn `first + batches` or later reaches a worker
/// before the script asks for that turn.
struct Segment {
  std::uint64_t first;     ///< turn of its first batch
  std::uint64_t argument;  ///< perturb_*: ns per read or per sample; end: 1: the ranks wait there to be ended; else 0
  std::uint32_t batches;
  std::uint32_t phase;
  std::uint32_t round;
  std::uint32_t at_once;  ///< batch b may begin once batch b - at_once was handed over; 0: as the loader says
  std::uint32_t seed;     ///< half_cached: chooses the half
  std::uint32_t made_as;  ///< synthetic: Phase in which its batches are made (as_is, cold, cached); else 0
};
static_assert(sizeof(Segment) == 40);

/// Which states a consumer's loader can be brought into.
enum class PhaseSupport : std::uint32_t {
  all = 0,
  none = 1,       ///< its reason is an issue text
  hold_only = 2,  ///< synthetic, and as found: where its files are cannot be chosen
  not_ahead = 3,  ///< all, but nobody knows what comes next: from memory only where all files of the data set are
};

/// What the schedule needs to know of one consuming process in a measured run. Same index as its RankSlot.
struct alignas(64) PhaseSlot {
  std::atomic<std::uint64_t> turns;       ///< taken so far
  std::atomic<std::uint64_t> pass_first;  ///< turn at which the current pass began (or would have)
  std::atomic<std::uint64_t> pass_end;    ///< turn after its last batch; UINT64_MAX: not known
  std::atomic<std::uint64_t> held_ns;     ///< that the script was held back in all
  std::atomic<std::uint32_t> armed;       ///< 1 once turns are counted
  std::atomic<std::uint32_t> workers;
  std::atomic<std::uint32_t> prefetch;
  std::atomic<std::uint32_t> missed;   ///< segments that came too late or did not fit
  std::atomic<std::uint32_t> support;  ///< PhaseSupport
  std::atomic<std::uint32_t> passes;   ///< of the armed loader that were begun
  std::atomic<std::uint32_t> ready;    ///< 1 + the synthetic segment in whose hold it waits, all being made
  std::atomic<std::uint32_t> at_end;   ///< 1: let go of for good. 2: it waits at the agreed turn to be ended.
};
static_assert(sizeof(PhaseSlot) == 64);

/// Which pages a cold block may drop from the page cache.
enum class Evict : std::uint32_t { own = 0, all = 1, none = 2 };

/// One consuming process. Written by it alone, read by the tool at any time.
struct alignas(64) RankSlot {
  std::atomic<std::uint64_t> pid;           ///< 0: free. Claimed by compare-exchange.
  std::atomic<std::uint64_t> batches;       ///< delivered so far by the counted loader
  std::atomic<std::uint64_t> samples;       ///< delivered so far
  std::atomic<std::uint64_t> waited_ns;     ///< summed waiting
  std::atomic<std::uint64_t> delivered_ns;  ///< CLOCK_MONOTONIC of the last delivery
  std::atomic<std::uint64_t> steps;         ///< optimizer steps so far
  std::atomic<std::uint32_t> state;         ///< RankState
  std::atomic<std::uint32_t> rank;          ///< RANK, or UINT32_MAX
  std::atomic<std::uint64_t> missed_segments;
};
static_assert(sizeof(RankSlot) == 64);

/// `opening`: its first wait has begun, and no batch came yet.
enum class RankState : std::uint32_t { idle = 0, iterating = 1, finished = 2, dirty = 3, opening = 4 };

/// Who has read which file of a stream last. Hashed by the file's key; a collision forgets.
struct StreamReader {
  std::atomic<std::uint64_t> file;
  std::atomic<std::uint64_t> pid;
  std::atomic<std::uint64_t> at_ns;  ///< CLOCK_MONOTONIC
};
inline constexpr std::size_t k_stream_readers = 256;

/// So many reads of a file that another process was reading at the time say that files are shared.
inline constexpr std::uint32_t k_files_shared = 16;

struct ControlBlock {
  char magic[8];
  std::uint32_t abi;
  std::uint32_t mode;  ///< RunMode
  char run_id[40];
  std::uint32_t restart;
  std::int32_t tool_pid;
  std::atomic<std::uint64_t> heartbeat_ns;    ///< CLOCK_MONOTONIC of the tool, every 100 ms or so
  std::atomic<std::uint32_t> recording;       ///< 1: write records. 0: only rank slots and texts (overhead pairs)
  std::atomic<std::uint32_t> stop;            ///< 1: no more records from anyone
  std::uint64_t budget_bytes;                 ///< for all recordings of this node
  std::atomic<std::uint64_t> used_bytes;      ///< handed out of it, a block at a time
  std::atomic<std::uint64_t> refused_blocks;  ///< asked for beyond it
  std::atomic<std::uint32_t> segment_count;   ///< published with release after the segment is written
  std::uint32_t evict;                        ///< Evict
  RankSlot ranks[k_max_ranks];
  PhaseSlot phases[k_max_ranks];
  Segment segments[k_max_segments];
  std::atomic<std::uint32_t> maps_read;      ///< 1: batches are made of what lies in maps of files, and hardly read()
  std::atomic<std::uint32_t> data_received;  ///< 1: batches are made of what comes over the network
  std::atomic<std::uint32_t> let_go;         ///< 1: no more states are made; the processes only record
  /// What the script will be given: the tool asks for the index lists of turns ahead_first .. + ahead_batches, and
  /// raises the serial; ranks answer with texts (TextKind::ahead) in their recordings.
  std::atomic<std::uint64_t> ahead_first;
  std::atomic<std::uint32_t> ahead_batches;
  std::atomic<std::uint32_t> ahead_serial;
  std::atomic<std::uint64_t> made_batches;             ///< by all workers, in a measured run
  std::atomic<std::uint64_t> made_cpu_ns;              ///< CPU time that making these took
  std::atomic<std::uint64_t> made_blocked_ns;          ///< in which they waited, and not for a core
  std::atomic<std::uint64_t> made_wall_ns;             ///< all of it
  std::atomic<std::uint64_t> cold_map_batches;         ///< begun cold, of what lies in maps of files
  std::atomic<std::uint64_t> cold_map_bytes;           ///< of these files, summed over the batches
  std::atomic<std::uint64_t> cold_map_resident_bytes;  ///< that stayed in memory all the same
  std::atomic<std::uint32_t> shared_reads;             ///< of files of a stream that several processes read at a time
  StreamReader stream_readers[k_stream_readers];
};

}  // namespace stallcast::record
