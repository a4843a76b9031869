/// Whether and how this process is recorded. One page that fork wipes holds all that belongs to one process only, so a
/// child finds itself unborn and starts anew at its first event; no handler runs in fork itself.
///
///   off      no STALLCAST_RUN_DIR: every hook is the indirect call and nothing else
///   dormant  a run is on, but nothing says yet that this process matters (shells, helpers): bytes read are counted
///   live     recorded, or a fork child of a recorded process
///   broken   the run folder cannot be used: as off, for good
#pragma once

#include <atomic>
#include <cstdint>

#include "probes/record/writer.hpp"

namespace stallcast::capture {

enum class Mode : std::uint32_t { off = 0, dormant = 1, live = 2, broken = 3 };

/// Reading this much from regular files makes a process worth recording without any C API call.
inline constexpr std::uint64_t k_dormant_read_bytes = 4ULL << 20;

struct PhaseState;

/// State of this one process; all-zero is "not born yet". Lives in the page that fork wipes.
/// What threads other than its maker do for the one batch that a worker process makes (helpers.hpp).
struct Helpers {
  std::atomic<std::uint32_t> batches;  ///< that are being made
  std::atomic<std::uint32_t> reads;
  std::atomic<std::uint32_t> opens;
  std::atomic<std::uint32_t> receives;
  std::atomic<std::uint64_t> received_bytes;  ///< over the network; in `read_bytes` as well
  std::atomic<std::uint64_t> read_bytes;
  std::atomic<std::uint64_t> read_ns;   ///< in which any of them read
  std::atomic<std::uint64_t> meta_ns;   ///< likewise, opened
  std::atomic<std::uint64_t> until_ns;  ///< end of the last read or open that was counted
};

struct Process {
  std::atomic<std::uint32_t> generation;  ///< 0 until born; differs between a parent and its children
  std::atomic<std::uint32_t> being_born;
  std::int32_t pid;
  std::uint32_t slot_refused;           ///< 1: every line of the control block was taken; not asked for again
  std::uint32_t vfork_seen;             ///< 1 once a thread has called vfork
  std::atomic<std::uint32_t> in_phase;  ///< 1 while a batch of a phased run is made
  record::Writer writer;
  std::atomic<record::RankSlot*> slot;  ///< claimed at the first wait or step
  std::atomic<std::uint64_t> steps;
  std::atomic<std::uint64_t> read_unrecorded_bytes;  ///< of regular files before birth, moved into the header at birth
  std::atomic<std::uint64_t> reads_unrecorded;
  std::atomic<PhaseState*> phase;                  ///< nullptr until the first phased batch
  std::atomic<std::uint64_t> children_claimed_ns;  ///< CPU time of ended children that batches have been given
  Helpers helpers;
};

extern std::atomic<Mode> g_mode;
/// Never null: a page of zeros that nobody writes until a process is armed.
extern std::atomic<Process*> g_process;

inline Mode mode() {
  return g_mode.load(std::memory_order_relaxed);
}

inline Process& process() {
  return *g_process.load(std::memory_order_relaxed);
}

/// Opens the recording of this process if it has none: control block, file, header. False where that is not possible
/// (mode `broken`) or not now (another thread is at it for too long). Only with the calling thread marked busy.
bool be_born();

/// The run folder, as the environment named it when the process began; empty outside a run.
const char* run_folder();

/// This process's line in the control block, claimed if need be; nullptr if there is no run or no free line.
record::RankSlot* rank_slot(Process& self);

}  // namespace stallcast::capture
