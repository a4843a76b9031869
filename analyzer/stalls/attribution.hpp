/// The attributed split: how the waiting of a passive recording divides into fetch and prep.
///
/// A recording tells for each batch what its making took: waiting for reads, computing, and neither. The loader's
/// queue is replayed with these times (simulation/loader.hpp): once as found, once with the storage's share of the
/// reads removed (every byte from memory: what was waited for it, and what the kernel computed for it), and the
/// consumer alone (every batch ready). How long the consumer takes to take over a batch that is made, the recording
/// tells, too: it is part of its turn in the replay, and no waiting for the workers.
///
/// Worked example. 2 workers, batches of 32 that take 300 ms of reading and 160 ms of computing to make; a step
/// computes for 100 ms. As found a batch arrives every (300 + 160) / 2 = 230 ms: 130 ms of each step is waiting.
/// Without the reads every 160 / 2 = 80 ms: the step of 100 ms binds. So T = 230, T_cached = 100, T_synthetic = 100:
/// the fetch stall is 130 / 230 = 57 % and the prep stall 0, although a third of the workers' time is prep. Dividing
/// the waiting by the workers' time instead would have said 37 % and 20 %.
#pragma once

#include <optional>

#include "analyzer/steps/steady.hpp"
#include "core/measured.hpp"

namespace stallcast {

/// Machine facts that the replay needs.
struct ReplayMachine {
  double cores = 1.0;                     ///< usable by this consumer and its workers
  double read_seconds_per_call = 2e-6;    ///< of a resident file, per read, open or stat
  double read_seconds_per_byte = 0.2e-9;  ///< likewise, per byte
  double consumer_run_delay_share = 0.0;  ///< of wall time that the consumer was runnable and not running
  double storage_share = 0.0;             ///< of the bytes read, that came from storage; 0 where it is not known
  /// Data are read through maps by the training thread itself: it is blocked by page faults that wait for storage.
  bool faults_are_reads = false;
  double blocked_without_faults_s = 0.0;  ///< of a batch that had none of these
  double fault_cpu_share = 0.0;           ///< of the CPU time of a batch that had some, in the kernel
  std::string unseen{};  ///< how data were read where that is not seen (what storage took is within the computing of
                         ///< makers); empty where it is
};

struct Attribution {
  double step_s = 0.0;                ///< measured mean, delivery to delivery
  double cached_step_s = 0.0;         ///< replayed without storage, scaled by measured/replayed of the step as found
  double synthetic_step_s = 0.0;      ///< the consumer alone
  double supply_step_s = 0.0;         ///< replayed with a consumer that takes no time, as found
  double supply_cached_step_s = 0.0;  ///< the same without storage
  double replay_error = 0.0;     ///< |replayed / measured - 1| of the step as found: the premise of all of the above
  double explained_error = 0.0;  ///< what others' load was made to explain of it: an inference, which widens intervals
  double foreign_delay_share = 0.0;  ///< of the waiting for cores, that other processes of the machine caused
  double foreign_delay_s = 0.0;      ///< the same in seconds, per batch
  double storage_read_s = 0.0;       ///< per batch, waiting for storage alone
  double receive_s = 0.0;            ///< per step, waiting after the batch was made: taking it over
};

/// Seconds that storage added to making `made`: its read and metadata time beyond what a resident file costs (what the
/// kernel computes for a read from storage is part of it, and so is the wait for a core after it). The share of that
/// time which did not go to storage counts no further than the thread was neither computing nor waiting for a core:
/// where cores are short, reads of resident files take long, too.
///
/// Where page faults are reads (`faults_are_reads`), a batch that had some was blocked by them, but for what one
/// without is blocked; and what the kernel computed meanwhile was reading.
///
/// Worked example. Reading took 216 ms of a batch, resident files would have cost 1 ms, and the thread was blocked for
/// 207 ms. All bytes from storage: 215 ms. Not known where from: 207 ms.
[[nodiscard]] double storage_seconds(const record::BatchRecord& made, const ReplayMachine& machine);

/// Replays the window. Empty if too few of its batches have a record of their making (fewer than 8, or under 30 %), or
/// if these took no time.
[[nodiscard]] std::optional<Attribution> attribute(const SteadyWindow& window, const ReplayMachine& machine);

}  // namespace stallcast
