/// How a prefetching loader delivers batches: W workers, k batches prefetched by each, in order or as they come.
///
/// Pure arithmetic on given times; the analyzer replays measured batches through it, the model drawn ones.
#pragma once

#include <array>
#include <span>
#include <vector>

namespace stallcast::simulation {

/// What making one batch takes on an idle machine, in seconds.
struct BatchWork {
  double read_s = 0.0;   ///< waiting for storage: no core is needed
  double cpu_s = 0.0;    ///< computing in the worker (prep, collate, copy into shared memory)
  double other_s = 0.0;  ///< worker occupied, neither reading nor computing (locks, sleeps)
};

/// What the consumer does with one batch, in seconds, before it asks for the next.
struct StepWork {
  double device_s = 0.0;  ///< waiting for a device: no core is needed
  double cpu_s = 0.0;     ///< computing on the host
};

struct LoaderSetup {
  int workers = 0;          ///< 0: the consumer makes each batch itself, additively
  int prefetch_factor = 2;  ///< batches outstanding per worker
  bool in_order = true;
};

/// What held the run up. storage and cores only where they are shared and more wanted them than they serve at once.
enum class Binding { step, worker, storage, cores };

/// What happened, in the order of delivery (with in_order = false the i-th delivered batch need not be batch i).
struct LoaderRun {
  std::vector<double> delivered_s{};  ///< when the i-th batch was in the consumer's hands; the iterator starts at 0
  std::vector<double> wait_s{};       ///< how long the consumer waited for it
  double end_s = 0.0;                 ///< end of the last step
  /// The chain of events that determined the end, back to the start: seconds of it by Binding. Waits cannot say this:
  /// workers that take turns deliver in bunches, so most steps of a starved consumer need not wait.
  std::array<double, 4> critical_s{};
  Binding binding = Binding::step;  ///< the largest of critical_s
  double reading_s = 0.0;           ///< summed over all batches: in the reading stage, queueing included
  double computing_s = 0.0;         ///< likewise, in the computing stage of the making
};

/// Exact recursion of PyTorch's loader where workers do not disturb each other: W k indices are sent round-robin when
/// the iterator starts, each delivery sends one more (in order: to the next worker in the cycle; as they come: to the
/// worker whose batch was taken), a worker makes its batches one after another. work.size() == steps.size().
[[nodiscard]] LoaderRun run_loader(const LoaderSetup& setup, std::span<const BatchWork> work,
                                   std::span<const StepWork> steps);

/// What the workers and the consumer share.
struct SharedMachine {
  double cores = 1.0;         ///< processor sharing: each runnable thread gets min(1, cores / runnable)
  bool shared_disk = false;   ///< read_s is service demand at one disk, shared equally by those who read
  double disk_streams = 1.0;  ///< reads that the shared disk serves at full speed at once
  double step_threads = 1.0;  ///< cores that a step's computing uses at once; its cpu_s is wall time on them
  int slices = 1;             ///< turns in which a worker reads, computes and waits for a batch: at most its samples
};

/// As run_loader, by discrete events, where cores (and the disk) are shared. A worker reads, then computes, then is
/// otherwise occupied; a step computes on the host, then waits for its device.
[[nodiscard]] LoaderRun run_loader_shared(const LoaderSetup& setup, const SharedMachine& machine,
                                          std::span<const BatchWork> work, std::span<const StepWork> steps);

}  // namespace stallcast::simulation
