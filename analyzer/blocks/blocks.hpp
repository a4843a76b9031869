/// Blocks of a measured run: which deliveries of a block show its state and nothing else, and whether its premise held.
///
/// Both ends of a block lie. Batches delivered at its start were made while what came before it was consumed, or the
/// queue was empty; towards its end workers begin with what comes after it while this one's are still consumed. What is
/// left out follows from the recording: the window opens with the first batch whose making began inside the block, and
/// closes with the last delivery before any batch of another state was begun. Behind a block there mostly is a burst,
/// whose batches are made in the same state: then it closes with the last delivery.
///
/// Worked example, 2 workers x prefetch 2. Deliveries 0-3 of a cold block were under way when it began; delivery 4 is
/// the first that was begun inside. The workers begin batch 20, which is as found, when 17 has been delivered. The
/// window is 4..17. After a burst the queue is empty: the window opens when it has had time to fill. Round-robin makes
/// arrivals come in bunches of 2, so both ends are averaged over 2 arrivals: time from (t4 + t5) / 2 to (t16 + t17) / 2
/// for the 12 batches 6..17. Where the job waits for most of the block and no worker rests, the block's time is that in
/// which so many samples are made, from when all workers are at it (blocks/production.hpp).
///
/// A burst gives two blocks (blocks/bursts.hpp): `synthetic`, and of its hold `supply_cold` or `supply_cached`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/blocks/content.hpp"
#include "analyzer/load/run_data.hpp"
#include "analyzer/steps/steady.hpp"
#include "probes/record/control.hpp"

namespace stallcast {

[[nodiscard]] constexpr bool is_supply(record::Phase phase) {
  return phase == record::Phase::supply_cached || phase == record::Phase::supply_cold;
}

/// One segment of the schedule as the consumer ran it in one pass; what of it lies in another pass is another run.
struct SegmentRun {
  std::uint32_t segment = 0;
  record::Phase phase = record::Phase::as_is;
  std::uint32_t round = 0;
  std::uint64_t iterator_id = 0;
  std::uint64_t first = 0;                       ///< batch of that pass
  std::uint64_t batches = 0;                     ///< from there on; the pass may end before
  std::uint64_t workers = 0;                     ///< of its loader
  std::uint64_t at_once = 0;                     ///< batches that may be under way; 0: as many as the loader likes
  record::Phase made_as = record::Phase::as_is;  ///< synthetic: the state in which its batches are made
  std::uint64_t argument = 0;
  std::uint64_t begin_ns = 0;
  bool iterable = false;  ///< of an iterable data set: its workers read on through files
  std::string stream{};   ///< why its files cannot be chosen; empty where they can

  /// How many workers its batches are made by: n at a time is as good as n workers.
  [[nodiscard]] std::uint64_t makers() const { return at_once > 0 ? std::min(at_once, workers) : workers; }
};

/// How the hold and burst of a synthetic segment went (TextKind::burst). All times CLOCK_MONOTONIC.
///
/// {"segment","iterator_id","first","batches","under_way","asked_ns","made_ns","released_ns","until_ns",
/// "workers_cpu_s" (null: not known),"refused" (absent: it went well)}
struct BurstRun {
  std::uint32_t segment = 0;
  std::uint64_t iterator_id = 0;
  std::uint64_t first = 0;        ///< batch of that pass
  std::uint64_t batches = 0;      ///< that the script was given in the burst
  std::uint64_t under_way = 0;    ///< that lay ready when it was let go
  std::uint64_t asked_ns = 0;     ///< the script asked for the first of them: the hold begins
  std::uint64_t made_ns = 0;      ///< all were made, and the workers rested
  std::uint64_t released_ns = 0;  ///< the script was let go
  std::uint64_t until_ns = 0;     ///< it asked for the batch after the burst
  double workers_cpu_s =
      -1.0;                ///< CPU time of the loader's workers from `released_ns` to `until_ns`; negative: unknown
  bool on_device = false;  ///< its steps run on a device that the script does not wait for
  double device_s = -1.0;  ///< the device's own time from the first hand-over to `until_ns`; negative: not known
  std::string refused{};   ///< why there was no hold; empty if it went well
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
  bool without_files = false;  ///< of a job whose batches are made of no file: a cached one then, whatever was asked
  bool produced = false;       ///< its rate is that of what its workers made, none of whom rested
  bool in_shards = false;      ///< its rate is that of the whole shards in it
  bool beside = false;         ///< told by the deliveries of another block: there was no segment of this phase
  std::string rejected{};      ///< why this block counts for nothing; empty if it counts

  [[nodiscard]] double seconds_per_sample() const { return seconds / samples; }
};

/// Segments that a consumer's texts announce, in order; without the end of the schedule.
[[nodiscard]] std::vector<SegmentRun> segments_of(const record::ProcessRecording& process);

/// What its texts say of holds and bursts, in order.
[[nodiscard]] std::vector<BurstRun> bursts_of(const record::ProcessRecording& process);

/// Every block of a consumer with its window cut. `processes`: all recordings (the workers hold the evidence). Without
/// workers nobody is held, and the steps of a block tell `synthetic` and `supply` as well. Where batches are made of no
/// file, what was to be cold is as good as cached, and counts as that.
[[nodiscard]] std::vector<PhaseBlock> phase_blocks(const Consumer& consumer,
                                                   const std::vector<record::ProcessRecording>& processes);

/// Stretches of a stream's run that were as found between bursts. None where phases change more than that.
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

}  // namespace stallcast
