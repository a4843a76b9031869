/// Writes one process's recording (layout.hpp) from inside the guest: no allocation, no lock on the appending path, no
/// libstdc++, only raw system calls. A Writer lives in zeroed memory that fork wipes, so a child begins with an empty
/// one; an Appender is one thread's place in its current block.
///
/// Appending: reserve() gives room for one record, the caller fills it, commit() publishes it. What does not fit into
/// the node's budget or on the disk is counted in FileHeader::dropped_records, never waited for.
#pragma once

#include <cstdint>

#include "probes/record/control.hpp"
#include "probes/record/layout.hpp"

namespace stallcast::record {

inline constexpr std::uint32_t k_max_path_bytes = 768;
inline constexpr std::uint32_t k_spare_blocks = 64;

/// A process's recording. All-zero is a valid state: not open.
struct Writer {
  FileHeader* header;                               ///< nullptr until open_writer() succeeded
  ControlBlock* control;                            ///< of the run
  std::atomic<std::uint32_t> ended;                 ///< DisableReason that ended the recording, 0 while it goes on
  std::atomic<std::uint32_t> taking;                ///< 1 while a thread takes a block
  std::atomic<std::uint64_t> impatient_until_ns;    ///< CLOCK_MONOTONIC: until then nobody waits for it
  std::atomic<BlockHeader*> spare[k_spare_blocks];  ///< given back by threads that ended, not full yet
  char path[k_max_path_bytes];  ///< of the recording; blocks are mapped by path, no descriptor is kept
};

/// One thread's current block. All-zero is a valid state: no block yet.
struct Appender {
  BlockHeader* block;
  std::uint32_t offset;     ///< in the block, where the next record goes
  std::uint32_t thread_id;  ///< to be set before the first reserve()
};

/// Maps `control` of a run folder, or nullptr: missing, too short, another magic or another ABI (`other_abi` set then).
ControlBlock* map_control(const char* run_folder, bool* other_abi);

/// Creates <run_folder>/<run id>.<restart>.<host>.<pid>.rec (0600) with its header page and opens `writer` on it.
/// On failure `writer.ended` says why, the refusal is counted in the control block, and no file is left behind.
bool open_writer(Writer& writer, ControlBlock* control, const char* run_folder, bool is_fork_child);

/// Whether records may be written now: the tool's switches are on and nothing has ended the recording.
inline bool recording(const Writer& writer) {
  const ControlBlock* control = writer.control;
  return control != nullptr && writer.ended.load(std::memory_order_relaxed) == 0 &&
         control->recording.load(std::memory_order_relaxed) == 1 && control->stop.load(std::memory_order_relaxed) == 0;
}

/// The same, asked where one record is due: counts it as dropped if only the recording's end keeps it from being
/// written.
bool may_record(Writer& writer);

/// The same for waits and steps, which are kept while the recording is switched off, too: a wait that is missing where
/// the switch fell into it would be a long one more often than not, and the rates would come out too high.
bool may_keep(Writer& writer);

/// Room for one record of `bytes` (a multiple of 8, RecordHeader included and filled in), or nullptr: dropped, counted.
void* reserve(Writer& writer, Appender& to, Kind kind, std::uint32_t aux, std::uint32_t bytes);

/// Publishes the record that the last reserve() gave.
void commit(Appender& to);

/// The thread ends: its block, where worth it, goes to the next thread that needs one.
void give_back(Writer& writer, Appender& from);

/// The rank that the environment names (launcher.hpp), UINT32_MAX if there is none.
std::uint32_t environment_rank();

/// How many ranks the job has by the environment, 0 if that is not known.
std::uint32_t environment_world_size();

/// A record that was meant to be written and was not.
void count_drop(Writer& writer);

}  // namespace stallcast::record
