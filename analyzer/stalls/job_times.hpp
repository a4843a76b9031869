/// Times of a job's steps over its ranks, and how they enter a profile: what the ways to divide waiting share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/profile/profile.hpp"
#include "analyzer/steps/rank_view.hpp"

namespace stallcast::sections {

/// Sums over ranks; each rank's own figures are kept to put the intervals together.
struct JobTimes {
  double step_s = 0.0;      ///< mean over ranks
  double samples = 0.0;     ///< per step of one rank
  Estimate<double> wait{};  ///< share of the step
  double sampler = 0.0;     ///< likewise, of the wait: choosing a batch
  double rate = 0.0;        ///< summed over ranks
  double rate_half = 0.0;
  std::int64_t n = 0;
};

/// Of these ranks, which run at the same time.
[[nodiscard]] JobTimes job_times(const std::vector<RankView>& ranks);

/// A rate with its half-width as a share of it.
[[nodiscard]] MeasuredEstimate<SamplesPerSecond> rate_estimate(double mean, double relative_half, std::int64_t n);

/// An attributed share of the step: statistical error, the replay's own, and that of the method, in quadrature.
[[nodiscard]] Estimate<Fraction> attributed_share(double mean, const JobTimes& times, double replay_error);

/// Share of the rank's steps that did not wait.
[[nodiscard]] double share_without_wait(const RankView& rank);

/// Appends a rate as a point of the profile, with the premises of its state.
void add_point(Profile& profile, const char* phase, const char* method,
               const MeasuredEstimate<SamplesPerSecond>& estimate);

/// Nothing that divides the waiting is known, for that reason; what was measured of it stays.
void absent_split(Profile& profile, const std::string& reason);

}  // namespace stallcast::sections
