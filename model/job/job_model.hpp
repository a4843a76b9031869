/// What the model needs to know of a job, as plain numbers of one rank, taken from a profile.
///
/// Example: batches of 32, 2 workers, 130 samples/s; each sample costs its worker 6 ms of CPU and 9 ms of waiting for
/// storage, of which a resident file would cost nothing; each batch costs the consumer 100 ms of device time. From
/// these demands, and what is shared, every scenario is put together; nothing else of the profile enters a prediction.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/profile/profile.hpp"
#include "analyzer/statistics/distribution.hpp"
#include "core/result.hpp"

namespace stallcast {

/// What the keys of a scenario need beside a rate, a step and the cost of making a batch (setting/evidence.hpp).
enum class Input {
  cores,
  workers,
  making_times,
  step_times,
  operators,
  storage_cost,
  sample_bytes,
  requests_per_sample,
  files_per_sample,
  opens_per_sample,
  metadata_time,
  stream,
  one_node,
  dataset_bytes,
  page_cache,
  prepared_bytes,
};

/// As messages call it: "bytes read per sample".
[[nodiscard]] std::string_view name_of(Input input);

/// An input that the profile lacks, and the measurement that would supply it.
struct MissingInput {
  Input input{};
  std::string reason{};
  std::string unlocked_by{};
};

/// A rate that was measured and that the model must reproduce.
struct Observation {
  /// as_is, cold, cached, half_cached, perturb_cpu, synthetic, supply_cold or supply_cached
  std::string phase{};
  std::optional<int> workers{};    ///< where it differs from the job's own
  std::optional<int> prefetch{};   ///< likewise: a block of n batches at a time is one of n workers that prefetch one
  std::optional<double> cached{};  ///< share of the bytes in memory, where the phase does not say
  double added_cpu_s = 0.0;        ///< per sample, in the worker: a perturbation
  double rate = 0.0;               ///< samples per second of one rank
  double relative_sd = 0.0;
  bool repeats = false;  ///< made of the deliveries of another one: nothing is fitted to it a second time
};

/// What one operator (transform) of the workers costs; see Operator in analyzer/profile/profile.hpp.
struct JobOperator {
  std::string name{};
  std::string where{};
  std::string kind{};
  double cpu_s = 0.0;    ///< of cpu_s, per sample
  double other_s = 0.0;  ///< of other_s
  double relative_sd = 0.0;
};

struct JobModel {
  int ranks = 1;
  double ranks_per_host = 1.0;
  double batch = 1.0;  ///< samples that a rank gets at once
  /// Batches that the consumer takes one after the other before it computes: those of a step that puts several of the
  /// loader's together. 1 where it computes after each of them, as with gradients that add up.
  double batches_at_once = 1.0;
  int workers = 0;
  int prefetch = 2;
  bool in_order = true;
  double cores = 1.0;  ///< for each rank

  /// Fetch and prep run side by side, and neither is known by itself: the loader is one server (`workers` 1) that takes
  /// `other_s` for a sample, the larger of the two. Then the step and the loader combine by max() as everywhere.
  bool overlapped = false;
  bool loader_binds = false;   ///< of these: the job waits, so that other_s is known; else the step hides it
  std::string loader_bound{};  ///< what a loader is called where it binds and fetch and prep are not told apart: prep
                               ///< where nothing was fetched
  std::string loader_kind{};

  /// The data are read through maps of files: what storage takes is part of `other_s`, and no key changes it.
  bool reads_unseen = false;
  /// They are, and cold and cached blocks have shown what storage takes of a sample's time.
  bool reads_mapped = false;
  /// They are, by the training thread itself: its page faults tell what storage takes as found, and nothing tells how
  /// much of a sample came from there.
  bool reads_by_faults = false;

  double rate = 0.0;  ///< as found, samples per second of one rank
  double rate_relative_sd = 0.0;
  /// How far the rate of another window may be off, as a share: that of the run as found, or of blocks of one state.
  double window_relative_sd = 0.0;
  double compute_s = 0.0;    ///< of one batch in the consumer, as found
  double found_stall = 0.0;  ///< of the step, that was waited as found
  double compute_relative_sd = 0.0;
  std::optional<double> burst_s{};  ///< of one batch: a step of synthetic blocks; absent where a device was traced
  double receive_s = 0.0;           ///< of one batch: waiting even where it is ready (queue, unpickling, pinning)
  bool pins = false;                ///< a thread of the consumer's receives batches, into pinned memory
  double receive_cpu_s = 0.0;       ///< of one batch: what the consumer computes to receive it
  double device_s = 0.0;            ///< of one batch: the part of it that needs no core
  double step_cpu_s = 0.0;          ///< of one batch: wall time of the rest when undisturbed
  double step_cpu_alone =
      1.0;  ///< of it, what is left without a loader: a batch that came just now is not in any cache
  /// Of device_s, the time in which kernels ran: what a faster accelerator shortens. The rest are copies that nothing
  /// hides, gaps between launches, and the main thread. Absent where the GPU was not traced: all of device_s then.
  std::optional<double> kernel_s{};
  double step_threads = 1.0;  ///< cores that the rest uses

  /// How much longer computing takes than the job itself explains: other jobs took cores (or a core's second thread)
  /// meanwhile. Predictions hold beside the same disturbance.
  double disturbance = 1.0;
  double cpu_s = 0.0;          ///< in a worker, per sample; where cached blocks were run, of one in memory
  double miss_cpu_s = 0.0;     ///< likewise, more for a sample that comes from storage
  bool cpu_of_cached = false;  ///< cpu_s was measured in cached blocks
  double other_s = 0.0;        ///< in a worker, per sample: neither computing, nor storage, nor waiting for a core
  double handover_s = 0.0;  ///< in a worker, per sample: the part of other_s that exists only because there are workers
  double collate_s = 0.0;   ///< in a worker, per sample: the part of cpu_s that puts a batch together
  double core_wait_s = 0.0;  ///< in a worker, per sample: runnable, but no core was free, as found
  double miss = 0.0;         ///< share of the bytes that came from storage, as found
  /// Waiting for storage per sample that came from there, while a worker spent the share `storage_presence` of its time
  /// doing so; absent where too little came from storage.
  std::optional<double> storage_s{};
  double storage_presence = 0.0;  ///< mean share of a worker's time spent waiting for storage meanwhile
  double bandwidth_share = 0.7;   ///< first guess: the part of storage_s that others' reading lengthens
  /// A stream is read in order, and the kernel fetches what comes next while a sample is prepared: storage sets the
  /// pace where it is the slower of the two, and nobody waits for it where it is not.
  bool reads_ahead = false;
  /// What a sample of such a stream takes from storage where that did set the pace: one over the rate then.
  std::optional<double> stream_demand_s{};
  /// What tells how far one reader of it overlaps with its storage (analytic/read_ahead.hpp): the size of a shard, of
  /// the kernel's largest window, and of what becomes readable at once.
  std::optional<double> shard_bytes{};
  std::optional<double> read_ahead_bytes{};
  std::optional<double> at_once_bytes{};
  /// Service demand at the storage that all share, per sample from there, where a probe of it has shown its ceiling.
  std::optional<double> storage_demand_s{};
  double storage_demand_sd = 0.0;  ///< of its logarithm, by the probe's interval
  /// Of what storage could deliver while nobody reads, how much it delivers afterwards: 1 for a token bucket, which
  /// caps the rate and makes nobody wait below it.
  double storage_saved = 0.0;
  std::optional<double> idle_read_s{};   ///< of a sample that finds the storage idle
  std::optional<double> sample_bytes{};  ///< read per sample
  std::optional<double> stored_bytes{};  ///< that storage gives for one that is not in memory: whole pages of its files
  std::optional<double> files_per_sample{};
  std::optional<double> opens_per_sample{};     ///< calls of open
  std::optional<double> requests_per_sample{};  ///< that storage serves for a sample from there, as a limit counts them
  std::optional<double> metadata_share{};       ///< of the time in reads, opens and stats: what the latter take
  std::optional<double> metadata_s{};           ///< that share of storage_s as found; known only with metadata_share
  std::optional<double> first_byte_s{};         ///< of a file, by one reader alone; known only with stream_bandwidth
  std::optional<double> stream_bandwidth{};     ///< of one reader alone, bytes/s
  std::optional<double> gradient_bytes{};       ///< that a rank sums up with the others in each step
  std::optional<double> prepared_bytes{};       ///< of a sample when its batch is delivered
  std::optional<double> backward_share{};       ///< of a step as found: its backward pass
  std::optional<double> exposed_s{};            ///< of a step as found: exchanging gradients after the backward pass
  std::string filesystem{};                     ///< of the data
  bool storage_is_shared = false;               ///< by other hosts: a network file system, an object store
  bool over_network = false;                    ///< data come through sockets: Linux' page cache holds none of them
  std::optional<double> dataset_bytes{};
  std::optional<double> dataset_samples{};
  std::optional<double> page_cache_bytes{};
  std::optional<double> worker_bytes{};  ///< memory of one more worker
  std::optional<double> memory_bytes{};  ///< limit of the job
  std::optional<double> shm_free_bytes{};

  std::vector<JobOperator> operators{};  ///< empty if not measured

  double cv_make = 0.2;  ///< of a batch's making
  double cv_step = 0.05;
  Distribution making{};  ///< of a batch; empty if not measured
  Distribution step{};

  bool attributed = true;  ///< no differential measurement stands behind the split
  std::vector<Observation> observations{};
  std::vector<MissingInput> missing{};
  std::vector<std::string> notes{};
};

/// Reads the model's inputs off `profile`. Errors (not_enough_data): no rate, no step, or no cost of making a sample
/// was measured; each names the measurement that is needed.
[[nodiscard]] Result<JobModel> job_model(const Profile& profile);

}  // namespace stallcast
