#include "analyzer/stalls/job_times.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analyzer/stalls/constants.hpp"
#include "analyzer/statistics/statistics.hpp"

namespace stallcast::sections {
namespace {

std::vector<double> column(const SteadyWindow& window, double (*value)(const SteadyStep&)) {
  std::vector<double> values;
  values.reserve(window.steps.size());
  for (const SteadyStep& step : window.steps) values.push_back(value(step));
  return values;
}

}  // namespace

JobTimes job_times(const std::vector<RankView>& ranks) {
  JobTimes times;
  double square = 0.0;
  double wait_half_square = 0.0;
  const double count = static_cast<double>(ranks.size());
  for (const RankView& rank : ranks) {
    const auto lengths = column(rank.window, [](const SteadyStep& s) { return s.step_s(); });
    const auto waits = column(rank.window, [](const SteadyStep& s) { return s.wait_s + s.sampler_s; });
    const auto samples = column(rank.window, [](const SteadyStep& s) { return s.samples; });
    const Estimate<double> per_sample = ratio_of_sums(lengths, samples);
    const Estimate<double> wait = ratio_of_sums(waits, lengths);
    const auto choosing = column(rank.window, [](const SteadyStep& s) { return s.sampler_s; });
    times.sampler += ratio_of_sums(choosing, lengths).mean / count;
    const double rate = 1.0 / per_sample.mean;
    const double half = rate * (per_sample.ci95_high - per_sample.ci95_low) / 2.0 / per_sample.mean;
    times.rate += rate;
    square += half * half;
    times.wait.mean += wait.mean / count;
    wait_half_square += std::pow((wait.ci95_high - wait.ci95_low) / 2.0 / count, 2.0);
    for (std::size_t i = 0; i < lengths.size(); ++i)
      times.step_s += lengths[i] / static_cast<double>(lengths.size()) / count;
    for (const double value : samples) times.samples += value / static_cast<double>(samples.size()) / count;
    times.n += per_sample.n;
  }
  times.rate_half = std::sqrt(square);
  const double wait_half = std::sqrt(wait_half_square);
  times.wait.ci95_low = std::max(0.0, times.wait.mean - wait_half);
  times.wait.ci95_high = std::min(1.0, times.wait.mean + wait_half);
  times.wait.n = times.n;
  return times;
}

MeasuredEstimate<SamplesPerSecond> rate_estimate(double mean, double relative_half, std::int64_t n) {
  return Estimate<SamplesPerSecond>{SamplesPerSecond(mean), SamplesPerSecond(mean * std::max(0.0, 1.0 - relative_half)),
                                    SamplesPerSecond(mean * (1.0 + relative_half)), n};
}

Estimate<Fraction> attributed_share(double mean, const JobTimes& times, double replay_error) {
  const double statistical = (times.wait.ci95_high - times.wait.ci95_low) / 2.0;
  const double half =
      std::sqrt(statistical * statistical + std::pow(replay_error * mean, 2.0) + k_split_error * k_split_error);
  return {mean, std::max(0.0, mean - half), std::min(1.0, mean + half), times.n};
}

double share_without_wait(const RankView& rank) {
  const auto& steps = rank.window.steps;
  const auto count = std::count_if(steps.begin(), steps.end(),
                                   [](const SteadyStep& s) { return s.wait_s < k_no_wait_share * s.step_s(); });
  return static_cast<double>(count) / static_cast<double>(steps.size());
}

void add_point(Profile& profile, const char* phase, const char* method,
               const MeasuredEstimate<SamplesPerSecond>& estimate) {
  Point point;
  point.phase = phase;
  point.method = method;
  point.estimate = estimate;
  if (profile.job.num_workers) point.setting["workers"] = std::to_string(*profile.job.num_workers);
  for (const Premise& premise : profile.premises) {
    if (premise.phase == phase) point.premises.push_back(premise);
  }
  profile.points.push_back(std::move(point));
}

void absent_split(Profile& profile, const std::string& reason) {
  profile.stalls.interference = profile.stalls.as_is_interference = MeasuredEstimate<Fraction>::absent(reason);
  profile.stalls.receive = profile.stalls.as_is_receive = MeasuredEstimate<Fraction>::absent(reason);
  profile.stalls.as_is_prep = MeasuredEstimate<Fraction>::absent(reason);
  profile.stalls.as_is_fetch = MeasuredEstimate<Fraction>::absent(reason);
  profile.stalls.prep = MeasuredEstimate<Fraction>::absent(reason);
  profile.stalls.fetch = MeasuredEstimate<Fraction>::absent(reason);
  for (auto* rate : {&profile.rates.synthetic, &profile.rates.cached, &profile.rates.cold, &profile.rates.supply_cached,
                     &profile.rates.supply_cold}) {
    *rate = MeasuredEstimate<SamplesPerSecond>::absent(reason);
  }
}

}  // namespace stallcast::sections
