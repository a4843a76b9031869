/// How the model reads values of a profile, and the parts of reading that have a file of their own.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "analyzer/profile/dataset_bytes.hpp"
#include "analyzer/profile/profile.hpp"
#include "model/job/constants.hpp"
#include "model/job/job_model.hpp"

namespace stallcast::inputs {

/// What would supply an input that a longer run shows.
inline constexpr const char* k_profile_more = "profile a longer run: stallcast profile -- COMMAND";

/// Standard deviation over mean, from the interval; within [0.003, 1].
template <class Q>
[[nodiscard]] double relative_sd(const Estimate<Q>& estimate) {
  const double half = 0.5 * (estimate.ci95_high - estimate.ci95_low).value();
  const double sd = half / 1.96 / std::abs(estimate.mean.value());
  return std::isfinite(sd) ? std::clamp(sd, k_least_relative_sd, k_hardly_known_sd) : k_hardly_known_sd;
}

/// Times and rates that a training job can have; anything else in a profile is damage, and counts as absent.
[[nodiscard]] inline bool plausible(double value) {
  return std::isfinite(value) && value >= 0.0 && value <= k_most_plausible;
}

/// The same of bytes, and of bytes a second.
[[nodiscard]] inline bool plausible_bytes(double value) {
  return std::isfinite(value) && value >= 0.0 && value <= k_most_plausible_bytes;
}

/// A value above zero; none where it is absent, or damage.
template <class Q>
[[nodiscard]] std::optional<double> value_of(const Measured<Q>& measured) {
  if (!measured || !std::isfinite(measured->value()) || !(measured->value() > 0.0)) return std::nullopt;
  return measured->value();
}

[[nodiscard]] inline std::optional<double> distinct_bytes(const Profile& profile) {
  return value_of(distinct_bytes_per_sample(profile.dataset, profile.job.dataset_samples));
}

template <class Q>
[[nodiscard]] bool known(const MeasuredEstimate<Q>& estimate) {
  return estimate.has_value() && plausible(estimate->mean.value());
}

[[nodiscard]] inline bool known(const MeasuredEstimate<BytesPerSecond>& estimate) {
  return estimate.has_value() && plausible_bytes(estimate->mean.value());
}

template <class Q>
[[nodiscard]] double mean_or(const MeasuredEstimate<Q>& estimate, double otherwise) {
  return known(estimate) ? estimate->mean.value() : otherwise;
}

[[nodiscard]] inline bool known_rate(const MeasuredEstimate<SamplesPerSecond>& rate) {
  return known(rate) && rate->mean.value() > k_slowest_rate;
}

/// Whether the run as found had nothing in memory: its rate is then that of the cold blocks.
[[nodiscard]] inline bool as_found_is_cold(const Profile& profile) {
  const auto& cold = profile.rates.cold;
  return cold && profile.rates.as_is && cold->mean == profile.rates.as_is->mean &&
         profile.stalls.method == "differential";
}

/// Reads that are all equally slow wait for a latency; where some are fast, the slow ones waited for others.
void guess_bandwidth_share(const Profile& profile, JobModel& job);

/// What a probe has shown of the storage's ceiling, which the ranks of its host share.
void read_storage(const Profile& profile, JobModel& job);

/// Appends the rates that the model must reproduce: the one as found, and all that were measured by taking something
/// away. Clears `attributed` where there are any of the latter.
void collect_observations(const Profile& profile, JobModel& job);

/// What remedies of the data's layout need to know: opens and stats, requests, one stream of reads. Called while
/// storage_s is that of the run as found.
void read_access(const Profile& profile, JobModel& job);

/// What ranks exchange in a step, and behind how much of it. Called once the step is known.
void read_exchange(const Profile& profile, JobModel& job);

/// Seconds of a batch: taking it over, as the run as found was divided. Absent without workers, or where it was not.
[[nodiscard]] std::optional<double> receiving_as_found(const Profile& profile, const JobModel& job);

/// What the consumer takes to take over a batch. Called once the step is known.
void read_receiving(const Profile& profile, JobModel& job);

/// Called once it is known whether the kernel reads ahead (read_order).
void read_variability(const Profile& profile, JobModel& job);

/// The cost of a miss from cold and cached rates, where both were observed: surer than what the run as found happened
/// to read from storage. It is where the fit begins.
void storage_from_phases(JobModel& job);

}  // namespace stallcast::inputs
