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
inline constexpr std::uint32_t k_control_abi = 1;
inline constexpr std::uint32_t k_max_ranks = 64;  ///< consuming processes of one node
inline constexpr std::uint32_t k_max_segments = 8192;

/// Names of the environment that carries a run into the job's processes.
inline constexpr char k_env_run_dir[] = "STALLCAST_RUN_DIR";
inline constexpr char k_control_file[] = "control";

enum class RunMode : std::uint32_t { passive = 1, phased = 2 };

/// What a stretch of batches measures. Names as in the profile.
enum class Phase : std::uint32_t {
  as_is = 0,
  cold = 1,
  cached = 2,
  synthetic = 3,
  supply_cached = 4,
  supply_cold = 5,
  first_touch = 6,
  half_cached = 7,
  perturb_read = 8,
  perturb_cpu = 9,
};

/// From batch `first_batch` of the armed iterator on, `phase` holds until the next segment.
struct Segment {
  std::uint64_t first_batch;
  std::uint32_t phase;
  std::uint32_t seed;
  std::uint64_t argument;  ///< perturb_*: ns per read or per sample; otherwise 0
  std::uint32_t workers;   ///< workers that may make batches; 0: all
  std::uint32_t round;
};
static_assert(sizeof(Segment) == 32);

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

enum class RankState : std::uint32_t { idle = 0, iterating = 1, finished = 2, dirty = 3 };

struct ControlBlock {
  char magic[8];
  std::uint32_t abi;
  std::uint32_t mode;  ///< RunMode
  char run_id[40];
  std::uint32_t restart;
  std::int32_t tool_pid;
  std::atomic<std::uint64_t> heartbeat_ns;    ///< CLOCK_MONOTONIC of the tool, every 100 ms or so
  std::atomic<std::uint32_t> recording;       ///< 1: write records. 0: keep only the rank slots (overhead pairs)
  std::atomic<std::uint32_t> stop;            ///< 1: no more records from anyone
  std::uint64_t budget_bytes;                 ///< for all recordings of this node
  std::atomic<std::uint64_t> used_bytes;      ///< handed out of it, a block at a time
  std::atomic<std::uint64_t> refused_blocks;  ///< asked for beyond it
  std::atomic<std::uint32_t> segment_count;   ///< published with release after the segment is written
  std::uint32_t unused;
  RankSlot ranks[k_max_ranks];
  Segment segments[k_max_segments];
};

}  // namespace stallcast::record
