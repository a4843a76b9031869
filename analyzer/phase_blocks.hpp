/// Blocks of a phased run: which deliveries of a block show its phase and nothing else, and whether its premise held.
///
/// Both ends of a block lie. Batches delivered at its start were made while the block before was consumed; towards its
/// end workers begin with the next block's batches while this one's are still consumed. What is left out follows from
/// the recording: the window opens with the first batch whose making began inside the block (after every worker's
/// staging), and closes with the last delivery before any batch of the next block was begun.
///
/// Worked example, 2 workers x prefetch 2. Deliveries 0-3 of a cold block were under way when it began; delivery 4 is
/// the first that was begun inside. The workers begin batch 20, which is cached, when 17 has been delivered. The window
/// is 4..17. Beside a synthetic block the workers rest: the window of one that follows it begins when the queue has had
/// time to fill, that of one before it ends when the first worker has nothing more to make. Round-robin makes arrivals
/// come in bunches of 2, so both ends are averaged over 2 arrivals: time from (t4
/// + t5) / 2 to (t16 + t17) / 2 for the 12 batches 6..17. Where the job waits for most of the block and no worker
/// rests, the block's time is that in which so many samples are made (phase_production.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/phase_content.hpp"
#include "analyzer/run_data.hpp"
#include "analyzer/steady.hpp"
#include "probes/record/control.hpp"

namespace stallcast {

/// Numbers of supply batches, which have no place in a pass, begin here: as in the shim's phase_plan.py.
inline constexpr std::uint64_t k_supply_numbers = 1ULL << 40;

[[nodiscard]] constexpr bool is_supply(record::Phase phase) {
  return phase == record::Phase::supply_cached || phase == record::Phase::supply_cold;
}

/// One segment of the schedule as the consumer ran it.
struct SegmentRun {
  std::uint32_t segment = 0;
  record::Phase phase = record::Phase::as_is;
  std::uint32_t round = 0;
  std::uint64_t iterator_id = 0;
  std::uint64_t first = 0;  ///< batch of that pass
  std::uint64_t batches = 0;
  std::uint64_t workers = 0;
  std::uint64_t argument = 0;
  std::uint64_t begin_ns = 0;
  std::string stream{};  ///< why its loader's samples cannot be asked for twice; empty where they can
};

/// What the workers found of files that they have mapped, in the batches of a window.
struct MappedEvidence {
  std::uint64_t batches = 0;  ///< that were made with such files at hand
  double samples = 0.0;       ///< of these
  double file_bytes = 0.0;    ///< summed over the batches, as are those of them that were resident when they began
  double resident_bytes = 0.0;
  double foreign_bytes = 0.0;
  std::uint64_t unknown_files = 0;
  std::uint64_t major_faults = 0;  ///< page faults that waited for storage
};

/// What the workers found while they made the batches of a window.
struct PhaseEvidence {
  std::uint64_t batches = 0;
  std::uint64_t opens = 0;
  std::uint64_t staged_opens = 0;
  std::uint64_t unknown_opens = 0;
  double opened_bytes = 0.0;
  double resident_bytes = 0.0;
  double evicted_bytes = 0.0;
  double foreign_bytes = 0.0;
  double page_bytes = 0.0;  ///< of the pages that were read, each counted once a batch; 0: recorded before it was asked
  double storage_bytes = 0.0;
  double samples = 0.0;         ///< of the batches that the bytes are of
  double received_bytes = 0.0;  ///< over the network; in `read_bytes` as well
  double read_bytes = 0.0;      ///< as the interposer saw them
  bool storage_known = false;
  MappedEvidence mapped{};
};

struct PhaseBlock {
  SegmentRun run{};
  double samples = 0.0;
  bool in_batches = false;    ///< `samples` counts batches: of a stream, where nobody knows what these hold
  double seconds = 0.0;       ///< for these samples, delivery to delivery
  double wait_seconds = 0.0;  ///< of them waited
  double late_seconds = 0.0;  ///< of the waiting, until the batch was made (seconds_until_made)
  double cpu_seconds = 0.0;   ///< CPU time of the consuming process meanwhile; negative: not recorded
  double made_cpu_s = 0.0;    ///< CPU time that making its batches took; negative: of some it is not known
  double made_wall_s = 0.0;   ///< time that it took, from begin to handing over, likewise
  std::int64_t batches = 0;   ///< in the window
  std::int64_t left_out = 0;  ///< deliveries of the block outside the window
  std::uint64_t from_ns = 0;  ///< first delivery of the window
  std::uint64_t to_ns = 0;    ///< last delivery of the window
  double first_reads = -1.0;  ///< share of a cold block's samples that this run had not read before; negative: unknown
  BlockContent content{};
  PhaseEvidence evidence{};
  std::string rejected{};  ///< why this block counts for nothing; empty if it counts

  [[nodiscard]] double seconds_per_sample() const { return seconds / samples; }
};

/// Segments that a consumer's texts announce, in order.
[[nodiscard]] std::vector<SegmentRun> segments_of(const record::ProcessRecording& process);

/// Every block of a consumer with its window cut. `processes`: all recordings (the workers hold the evidence).
[[nodiscard]] std::vector<PhaseBlock> phase_blocks(const Consumer& consumer,
                                                   const std::vector<record::ProcessRecording>& processes);

/// Stretches of a stream's run that were as found between replayed batches. None where phases change more than that.
[[nodiscard]] std::vector<Stretch> found_between_blocks(const Consumer& consumer,
                                                        const std::vector<record::ProcessRecording>& processes);

/// Whether the evidence of `block` supports its phase, as a premise with what was expected and seen.
[[nodiscard]] Premise check_premise(const PhaseBlock& block);

/// Whether the block's data lie in maps of files: there were some, and hardly anything was read with read().
[[nodiscard]] bool is_of_maps(const PhaseEvidence& seen);

/// Whether a cold block that is not proven still shows storage as it is first met: nothing was known to be resident,
/// and this run had not read its samples before (others may have). Of a stream's block as found: whether its bytes came
/// from storage.
[[nodiscard]] Premise check_first_touch(const PhaseBlock& block);

/// "cold", "cached", ... as in the profile.
[[nodiscard]] const char* phase_name(record::Phase phase);

}  // namespace stallcast
