/// Profiles of jobs whose truth is known: made by playing the job in the event simulation and writing down what a
/// recording would have seen.
#pragma once

#include <cstdint>
#include <random>

#include "analyzer/profile/profile.hpp"
#include "simulation/loader.hpp"

namespace stallcast::made {

/// A job as it really is. Times of one sample in its worker, of one batch in the consumer, in seconds.
struct TrueJob {
  int workers = 2;
  int prefetch = 2;
  bool in_order = true;
  double cores = 4.0;
  double batch = 32.0;
  double device_s = 0.1;
  double step_cpu_s = 0.004;
  double cpu_s = 0.006;
  double other_s = 0.0002;
  double disk_s = 0.0;     ///< demand at storage that all workers share, per sample from storage
  double latency_s = 0.0;  ///< per sample from storage, not shared
  double miss = 0.0;       ///< share of samples that come from storage
  double cv_make = 0.15;   ///< of a batch
  double cv_step = 0.03;
  double sample_bytes = 110e3;
  std::int64_t dataset_samples = 50'000;
  std::uint64_t seed = 1;
};

/// What the job delivers when it is run.
struct Outcome {
  double rate = 0.0;       ///< samples per second
  double wait_s = 0.0;     ///< per batch
  double compute_s = 0.0;  ///< per batch
  simulation::LoaderRun run{};
};

[[nodiscard]] Outcome play(const TrueJob& job, std::size_t batches = 3000);

/// The profile that a passive recording of the job gives (method: attributed).
[[nodiscard]] Profile profile_of(const TrueJob& job);

/// Adds a differential point: the job played with `changed` settings under `phase`.
void add_differential(Profile& profile, const TrueJob& changed, const std::string& phase,
                      std::map<std::string, std::string> setting);

/// A random, plausible job.
[[nodiscard]] TrueJob random_job(std::mt19937_64& random);

}  // namespace stallcast::made
