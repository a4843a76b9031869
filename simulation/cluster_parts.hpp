/// What the cluster simulation is put together from. Internal to cluster.cpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "simulation/cluster.hpp"

namespace stallcast::simulation {

/// A worker that may begin its next batch.
struct Beginning {
  double at_s = 0.0;
  std::uint32_t rank = 0;
  std::uint32_t batch = 0;

  bool operator>(const Beginning& other) const {
    if (at_s != other.at_s) return at_s > other.at_s;
    return rank != other.rank ? rank > other.rank : batch > other.batch;
  }
};

/// Serves requests one after the other.
struct Server {
  double free_s = 0.0;
  double busy_s = 0.0;

  /// How long a request at `now` waits before it is served.
  double serve(double now, double service_s) {
    const double waits = std::max(0.0, free_s - now);
    free_s = std::max(free_s, now) + service_s;
    busy_s += service_s;
    return waits;
  }
};

/// Smallest of `values` that at least the share `q` of them does not exceed.
[[nodiscard]] inline double quantile(std::vector<double>& values, double q) {
  const double place = std::ceil(q * static_cast<double>(values.size()));
  const auto at = static_cast<std::ptrdiff_t>(std::max(1.0, place)) - 1;
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

/// Of the last `steps` of `ends`; `begin_s`: when the first of them began, `ring`: batches outstanding.
[[nodiscard]] inline StepTimes step_times(const std::vector<double>& ends, std::size_t steps, double begin_s,
                                          std::size_t ring) {
  const std::size_t before = ends.size() - steps;
  const std::size_t last = ends.size() - std::min(ring + 2, steps / 4);
  std::vector<double> times;
  for (std::size_t i = before + std::min(2 * ring + 2, steps / 4); i < last; ++i) {
    times.push_back(ends[i] - (i == before ? begin_s : ends[i - 1]));
  }
  StepTimes of;
  for (const double time : times) of.mean_s += time;
  of.mean_s /= static_cast<double>(times.size());
  of.max_s = *std::max_element(times.begin(), times.end());
  of.p50_s = quantile(times, 0.5);
  of.p99_s = quantile(times, 0.99);
  return of;
}

}  // namespace stallcast::simulation
