/// A scenario as the model evaluates it: plain numbers beside those of the job, and how far it lies from what was
/// measured.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/analytic/closed_form.hpp"
#include "model/job/job_model.hpp"
#include "model/scenario/scenario.hpp"

namespace stallcast {

/// What the fit may move; the logarithms of factors, 0 = as the profile says.
struct Parameters {
  double step = 0.0;     ///< consumer's time of a batch
  double prep = 0.0;     ///< worker's time of a sample, storage apart
  double storage = 0.0;  ///< waiting for storage
  /// Standard normal quantile added to that of bandwidth_share; where storage_demand_s is known, its logarithm in steps
  /// of 0.04.
  double bandwidth = 0.0;
  /// How much longer computing takes beside as many others as the machine has other cores: caches, memory and clock
  /// rate are shared, whichever core a thread runs on. 0: as the profile says, whoever computes beside. The fit starts
  /// from what is expected of any machine.
  double beside = 0.0;
};

/// The model's own error in one draw: standard normals, scaled by what the scenario departs from.
struct ModelError {
  double making = 0.0;
  double step = 0.0;
  double hits = 0.0;        ///< -1 to 1: low to high end of the band of the hit ratio
  bool other_step = false;  ///< the other belief about which part of a step a faster accelerator shortens
};

struct Setting {
  int workers = 0;
  int prefetch = 2;
  double batch = 1.0;
  double cores = 1.0;  ///< for each rank
  double speedup = 1.0;
  double miss = 0.0;  ///< share of bytes from storage; band where the cache policy leaves one
  double miss_least = 0.0;
  double miss_most = 0.0;
  std::optional<double> cached{};  ///< of the data set, what each node's cache holds; absent: hits as profiled
  CachePolicy policy = CachePolicy::page_cache;
  std::optional<double> demand_s{};   ///< of storage shared by the rank's workers, per missed sample
  std::optional<double> latency_s{};  ///< per missed sample
  double added_cpu_s = 0.0;           ///< per sample, in the worker
  double saved_cpu_s = 0.0;           ///< likewise, by operators that are faster or gone; negative: slower
  double saved_other_s = 0.0;         ///< likewise, of what they wait for

  int nodes = 1;
  double ranks_per_node = 1.0;
  int jobs = 1;                      ///< such jobs on each node
  double uses = 1.0;                 ///< of a batch that was made: echoes, times jobs that share it
  double echoes = 1.0;               ///< the steps that a rank takes with one batch
  double remote = 0.0;               ///< share of bytes from another node's memory
  double remote_s = 0.0;             ///< latency of a sample from there
  double remote_share_s = 0.0;       ///< least time of one at its node's link, beside those of the node's other ranks
  double least_demand_s = 0.0;       ///< of storage, per missed sample: its requests at the most a second
  double latency_factor = 1.0;       ///< of what a missed sample waits for storage beside others' reading: in shards
  double demand_factor = 1.0;        ///< likewise, of its demand at what all share
  double metadata_s = 0.0;           ///< of that waiting: opens and stats, which a snapshot takes away
  std::optional<Staging> staging{};  ///< that this setting has
  double staged = 0.0;               ///< share of the missed bytes that the node's own disk has
  double staged_s = 0.0;             ///< of a sample from there, nobody else reading
  double staged_share_s = 0.0;       ///< least time of one, beside those of the node's other ranks
  double written_share_s = 0.0;      ///< likewise, of a missed sample that is written there on its way
  double copy_s = 0.0;               ///< before the first step
  double shared_s = 0.0;             ///< least time of a missed sample at the storage of all nodes, beside everybody's
  double opening_s = 0.0;            ///< least time of a sample at the metadata servers of all nodes' storage, likewise
  bool opens_cached = false;         ///< opening_s is for samples that are in memory as well
  std::optional<double> prep_cores{};  ///< of extra hosts, for each rank: they prepare, and workers take over
  double carried_s = 0.0;      ///< least time of a prepared sample at its node's link, beside those of other ranks
  double device_prep_s = 0.0;  ///< of a sample: operators that run on the accelerator
  double exposed_s = 0.0;      ///< of a step: exchanging gradients that the backward pass does not hide
  double straggling = 0.0;     ///< of a step: waiting for the slowest rank, beyond the run as found
  bool consumes = true;        ///< false: batches are pulled back to back (supply)
  bool loads = true;           ///< false: batches are there already (synthetic)

  double making_sd = 0.0;  ///< relative error of the model of a worker, so far from what was measured
  double step_sd = 0.0;
  bool as_found = false;  ///< nothing that matters differs from the measured run
  bool extrapolated = false;
  std::vector<std::string> notes{};
};

/// The measured run.
[[nodiscard]] Setting as_found(const JobModel& job);

/// Of one job, on all nodes.
[[nodiscard]] double ranks_of(const Setting& setting);

/// Where `seen` was measured.
[[nodiscard]] Setting setting_of(const JobModel& job, const Observation& seen);

/// `scenario` for `job`. Errors: not_enough_data where an input of a key was not measured (the message names the
/// measurement), usage where the setting is impossible for this job.
[[nodiscard]] Result<Setting> resolve(const JobModel& job, const Scenario& scenario);

/// The first epoch of `setting`, where data is staged in it: nothing is in memory yet, nor on the disk unless it was
/// copied there before. Empty where nothing is staged.
[[nodiscard]] std::optional<Setting> first_epoch(const Setting& setting);

/// Service demands of one batch of one rank.
[[nodiscard]] ServiceDemands demands(const JobModel& job, const Setting& setting, const Parameters& parameters,
                                     const ModelError& error);

}  // namespace stallcast
