#include "model/analytic/stall_curve.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "model/analytic/constants.hpp"
#include "simulation/loader.hpp"

namespace stallcast {
namespace {

constexpr StallPoints k_log2_loads{-2.0, -1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0, 2.0, 3.0};

std::vector<double> draw(std::uint64_t seed, double cv) {
  std::vector<double> values(k_drawn_batches, 1.0);
  if (cv <= 0.0) return values;
  std::mt19937_64 random(seed);
  std::gamma_distribution<double> gamma(1.0 / (cv * cv), cv * cv);
  double sum = 0.0;
  for (double& value : values) sum += value = gamma(random);
  for (double& value : values) value *= static_cast<double>(k_drawn_batches) / sum;  // a mean of exactly 1
  return values;
}

int bucket(double cv, double width) {
  return std::clamp(static_cast<int>(cv / width), 0, k_most_cv_buckets);
}

/// ln of the relative step, read off between the simulated loads; beyond them the larger of the two stages binds.
double interpolate(const StallPoints& curve, double log2_load) {
  constexpr double k_ln2 = 0.6931471805599453;
  if (log2_load <= k_log2_loads.front()) return curve.front();
  if (log2_load >= k_log2_loads.back()) return curve.back() + (log2_load - k_log2_loads.back()) * k_ln2;
  std::size_t right = 1;
  while (k_log2_loads[right] < log2_load) ++right;
  const double share = (log2_load - k_log2_loads[right - 1]) / (k_log2_loads[right] - k_log2_loads[right - 1]);
  return curve[right - 1] + share * (curve[right] - curve[right - 1]);
}

}  // namespace

double StallCurve::relative_step(double load) const {
  return std::exp(interpolate(points, std::log2(std::max(load, 1e-9))));
}

StallCurve StallCurves::find(const StallKey& key) {
  const double cv = std::clamp(key.cv_make, 0.0, k_making_cv_bucket * (k_most_cv_buckets - 1));
  const int below = bucket(cv, k_making_cv_bucket);
  const double share = cv / k_making_cv_bucket - below;
  StallCurve curve{points(key, below)};
  if (share <= 0.0) return curve;
  const StallPoints& above = points(key, below + 1);
  for (std::size_t i = 0; i < above.size(); ++i) curve.points[i] += share * (above[i] - curve.points[i]);
  return curve;
}

const StallPoints& StallCurves::points(const StallKey& key, int making_bucket) {
  StallKey capped = key;
  capped.workers = std::min(key.workers, k_most_drawn_workers);
  capped.prefetch = std::min(key.prefetch, k_most_drawn_prefetch);
  const int step_bucket = bucket(key.cv_step + 0.5 * k_step_cv_bucket, k_step_cv_bucket);
  const auto packed = static_cast<std::uint64_t>(capped.workers) << 32 |
                      static_cast<std::uint64_t>(capped.prefetch) << 20 |
                      static_cast<std::uint64_t>(making_bucket) << 10 | static_cast<std::uint64_t>(step_bucket) << 1 |
                      static_cast<std::uint64_t>(key.in_order ? 1 : 0);
  const auto known = curves_.find(packed);
  if (known != curves_.end()) return known->second;
  return curves_.emplace(packed, simulate(capped, making_bucket * k_making_cv_bucket, step_bucket * k_step_cv_bucket))
      .first->second;
}

StallPoints StallCurves::simulate(const StallKey& key, double cv_make, double cv_step) {
  const Draws& drawn = draws(cv_make, cv_step);
  std::vector<simulation::BatchWork> work(k_drawn_batches);
  std::vector<simulation::StepWork> steps(k_drawn_batches);
  for (std::size_t i = 0; i < k_drawn_batches; ++i) steps[i].device_s = drawn.step[i];
  const auto in_flight = static_cast<std::size_t>(key.workers) * static_cast<std::size_t>(key.prefetch);
  const std::size_t first = std::min(2 * in_flight, k_drawn_batches / 4);
  const std::size_t last = k_drawn_batches - 1;
  StallPoints curve{};
  double least = 0.0;
  for (std::size_t point = 0; point < curve.size(); ++point) {
    const double load = std::exp2(k_log2_loads[point]);
    for (std::size_t i = 0; i < k_drawn_batches; ++i) work[i].cpu_s = drawn.making[i] * load * key.workers;
    const auto run = simulation::run_loader({key.workers, key.prefetch, key.in_order}, work, steps);
    const double step = (run.delivered_s[last] - run.delivered_s[first]) / static_cast<double>(last - first);
    // The finite sample must break neither the bounds nor the order.
    least = std::max({least, std::log(step), std::log(load), 0.0});
    curve[point] = least;
  }
  return curve;
}

const StallCurves::Draws& StallCurves::draws(double cv_make, double cv_step) {
  const auto key = static_cast<std::uint64_t>(std::lround(cv_make * 1e4)) << 32 |
                   static_cast<std::uint64_t>(std::lround(cv_step * 1e4));
  auto& drawn = draws_[key];
  if (drawn.making.empty()) drawn = {draw(1, cv_make), draw(2, cv_step)};
  return drawn;
}

}  // namespace stallcast
