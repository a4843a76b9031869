/// Makes runs as they would have been recorded, of jobs whose truth is known: drawn times are played through a loader,
/// and waits, makings, steps and the tool's log are written down from that.
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <set>
#include <vector>

#include "analyzer/load/run_data.hpp"
#include "analyzer/profile/profile.hpp"
#include "simulation/loader.hpp"

namespace stallcast::synthetic {

[[nodiscard]] inline std::uint64_t ns(double seconds) {
  return static_cast<std::uint64_t>(std::llround(seconds * 1e9));
}

/// A stretch of the run in which nothing was recorded, in seconds since its start.
struct Off {
  double from_s = 0.0;
  double to_s = 0.0;
};

/// The job and what is recorded of it. Times are per batch; log-normal with the given coefficient of variation.
struct JobSpec {
  simulation::LoaderSetup loader{2, 2, true};
  double cores = 64.0;
  int batch_size = 32;
  double read_s = 0.3;  ///< waiting for storage
  double read_cv = 0.2;
  double read_cpu_s = 0.0;  ///< what the kernel computes for reads from storage, in the maker
  double cpu_s = 0.16;      ///< computing in the maker, reads of resident bytes included
  double cpu_cv = 0.1;
  double other_s = 0.0;
  double device_s = 0.1;  ///< of a step, without a core
  double host_s = 0.0;    ///< of a step, on a core
  double step_cv = 0.05;
  int passes = 1;
  int batches = 200;  ///< of one pass
  bool persistent = false;
  double startup_s = 0.0;  ///< until workers that are new make their first batch
  int ranks = 1;
  int accumulate = 1;      ///< batches per optimizer step; 0: no optimizer
  int evaluate_every = 0;  ///< training batches between evaluations inside the pass; 0: none
  int evaluation_batches = 5;
  double evaluation_s = 0.05;  ///< wait plus compute of each of these
  std::vector<Off> off{};
  std::set<int> lost_workers{};  ///< of which there is no recording
  double storage_share = 1.0;    ///< of the bytes read
  bool run_delay_known = true;   ///< /proc/PID/schedstat can be read
  bool samples = false;          ///< a record for each sample, too
  double tick_s = 1.0;           ///< between entries of the tool's log
  double scale = 1.0;            ///< of every time
  std::uint64_t seed = 1;
};

inline constexpr std::int64_t k_first_consumer_pid = 1000;  ///< of rank 0; rank r adds 1000 r, workers follow
inline constexpr std::uint64_t k_start_ns = 5'000'000'000'000ULL;
inline constexpr double k_resident_s_per_call = 2e-6;
inline constexpr double k_resident_s_per_byte = 0.2e-9;
inline constexpr double k_bytes_per_sample = 100e3;

/// Compute-bound, prep-bound, fetch-bound: what of the step the job waits for.
[[nodiscard]] JobSpec compute_bound();
[[nodiscard]] JobSpec prep_bound();
[[nodiscard]] JobSpec fetch_bound();

/// The run as read back, joined. Processes are in order of pid.
[[nodiscard]] RunData make_run(const JobSpec& spec);

/// The same before join_run().
[[nodiscard]] RunData make_recordings(const JobSpec& spec);

/// Writes recordings and tool.jsonl into `folder`, which exists.
void write_run(const RunData& run, const std::filesystem::path& folder);

/// The tool's log as text.
[[nodiscard]] std::string log_text(const RunLog& log);

/// Whether `value` is `wanted` within a share of it (doctest's Approx adds an absolute one of the same size).
[[nodiscard]] inline bool near(double value, double wanted, double share) {
  return value >= wanted - share * std::abs(wanted) && value <= wanted + share * std::abs(wanted);
}

/// Times from delivery to delivery in steady state, simulated with what is asked about removed. Removing something
/// never counts as slower: where cores are short a loader without reads can get into the way of the consumer's own
/// computing, which is interference and no negative stall.
struct Truth {
  double step_s = 0.0;
  double cached_step_s = 0.0;
  double synthetic_step_s = 0.0;

  [[nodiscard]] double fetch() const { return (step_s - cached_step_s) / step_s; }
  [[nodiscard]] double prep() const { return (cached_step_s - synthetic_step_s) / step_s; }
};

/// What a profile says of T_cached - T_synthetic as found: the prep stall and what the workers cost the compute.
[[nodiscard]] inline double beyond_synthetic(const Profile& profile) {
  return profile.stalls.as_is_prep->mean + profile.stalls.as_is_interference->mean;
}

/// Of the job at large: `batches` fresh draws, evaluation and gaps left out.
[[nodiscard]] Truth truth_of(const JobSpec& spec, int batches = 4000);

/// nullptr if there is no such issue.
[[nodiscard]] const DataIssue* issue_of(const std::vector<DataIssue>& issues, const std::string& id);
[[nodiscard]] const DataIssue* issue_of(const Profile& profile, const std::string& id);

}  // namespace stallcast::synthetic
