#include "model/cluster.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace stallcast::cluster {

double ring_s(int nodes, double bytes, const Link& link) {
  if (nodes < 2) return 0.0;
  const double others = nodes - 1;
  return 2.0 * others * link.latency_s + 2.0 * others / nodes * bytes / link.bandwidth;
}

double tree_s(int nodes, double bytes, const Link& link) {
  if (nodes < 2) return 0.0;
  return 2.0 * std::log2(static_cast<double>(nodes)) * link.latency_s + 2.0 * bytes / link.bandwidth;
}

double exposed_s(double all_reduce_s, double backward_s, int buckets) {
  const double k = std::max(1, buckets);
  return std::max(all_reduce_s / k, all_reduce_s - backward_s * (k - 1.0) / k);
}

double expected_largest(double n) {
  if (n <= 1.0) return 0.0;
  // The mean of a value is the integral of its survival function above 0 less that of its distribution below.
  constexpr double k_far = 8.5;
  constexpr int k_steps = 1700;
  constexpr double k_width = k_far / k_steps;
  const auto below = [&](double x) { return std::pow(0.5 * std::erfc(-x / std::numbers::sqrt2), n); };
  double sum = 0.0;
  for (int i = 0; i < k_steps; ++i) {
    const double x = (i + 0.5) * k_width;
    sum += 1.0 - below(x) - below(-x);
  }
  return sum * k_width;
}

double balancing_share(double learners, double samples) {
  if (learners <= 1.0) return 0.0;
  return std::min(1.0, std::sqrt((1.0 - 1.0 / learners) / (2.0 * std::numbers::pi * samples)));
}

Sources partitioned(double x, int nodes) {
  const double held = std::min(1.0, x * nodes);
  return {held / nodes, held * (nodes - 1) / nodes, 1.0 - held};
}

Sources locality(double x, int nodes, double learners, double samples) {
  const double held = std::min(1.0, x * nodes);
  const double moved = nodes > 1 ? balancing_share(learners, samples) : 0.0;
  return {held * (1.0 - moved), held * moved, 1.0 - held};
}

}  // namespace stallcast::cluster
