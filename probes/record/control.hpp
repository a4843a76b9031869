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
inline constexpr std::uint32_t k_control_abi = 3;
inline constexpr std::uint32_t k_max_ranks = 64;  ///< consuming processes of one node
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

/// A stretch of *turns*: the batches that the script takes from the armed loader, counted over all its passes.
/// Supply segments have no turns of their own: their batches are pulled and dropped before turn `first`.
struct Segment {
  std::uint64_t first;     ///< turn of its first batch
  std::uint64_t argument;  ///< perturb_*: ns per read or per sample; otherwise 0
  std::uint32_t batches;
  std::uint32_t phase;
  std::uint32_t round;    ///< segments of one round share their index lists
  std::uint32_t workers;  ///< workers that may make batches; 0: all
  std::uint32_t seed;     ///< half_cached: chooses the half
  std::uint32_t lists;    ///< of its round, that it goes over again and again; 0: as many as it has batches
};
static_assert(sizeof(Segment) == 40);

/// Which phases can be run on a consumer's loader.
enum class PhaseSupport : std::uint32_t {
  all = 0,
  none = 1,         ///< its reason is an issue text
  replay_only = 2,  ///< a stream: synthetic, and as found
};

/// What the schedule needs to know of one consuming process in a phased run. Same index as its RankSlot.
struct alignas(64) PhaseSlot {
  std::atomic<std::uint64_t> armed;       ///< 1 once turns are counted
  std::atomic<std::uint64_t> turns;       ///< taken so far
  std::atomic<std::uint64_t> pass_first;  ///< turn at which the current pass began (or would have)
  std::atomic<std::uint64_t> pass_end;    ///< turn after its last batch; UINT64_MAX: not known
  std::atomic<std::uint32_t> workers;
  std::atomic<std::uint32_t> prefetch;
  std::atomic<std::uint64_t> missed;   ///< segments that came too late or did not fit
  std::atomic<std::uint32_t> support;  ///< PhaseSupport
  std::atomic<std::uint32_t> left;     ///< 1: it has come to the agreed end of the run, and leaves
  std::atomic<std::uint32_t> segment;  ///< 1 + the one begun last: of several supply segments before one turn
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
  char stage_dir[256];  ///< in memory, for the bytes of cached blocks; empty: none was to be had
  std::atomic<std::uint64_t> stage_used_bytes;
  std::uint64_t stage_budget_bytes;
  Segment segments[k_max_segments];
  std::atomic<std::uint32_t> maps_read;      ///< 1: batches are made of what lies in maps of files, and hardly read()
  std::atomic<std::uint32_t> data_received;  ///< 1: batches are made of what comes over the network
  std::atomic<std::uint32_t> joins_passes;   ///< 1: an iterator that begins now is to serve the passes after it as well
};

}  // namespace stallcast::record
