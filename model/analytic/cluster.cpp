#include "model/analytic/cluster.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "model/analytic/constants.hpp"

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

std::vector<double> ddp_buckets(double bytes) {
  constexpr double k_first = 1 << 20;
  const double rest = std::max(25.0 * k_first, bytes / k_most_gradient_buckets);
  std::vector<double> buckets;
  for (double left = bytes; left > 0.0; left -= buckets.back()) {
    buckets.push_back(std::min(left, buckets.empty() ? k_first : rest));
  }
  return buckets;
}

double exposed_s(const std::vector<double>& buckets, double backward_s,
                 const std::function<double(double bytes)>& all_reduce_s) {
  const double all = std::accumulate(buckets.begin(), buckets.end(), 0.0);
  double ready = 0.0;
  double end_s = 0.0;
  for (const double bytes : buckets) {
    ready += bytes;
    end_s = std::max(backward_s * ready / all, end_s) + all_reduce_s(bytes);
  }
  return std::max(0.0, end_s - backward_s);
}

double expected_largest(double n) {
  if (n <= 1.0) return 0.0;
  // The mean of a value is the integral of its survival function above 0 less that of its distribution below.
  constexpr double k_width = k_integrated_sds / k_integration_steps;
  const auto below = [&](double x) { return std::pow(0.5 * std::erfc(-x / std::numbers::sqrt2), n); };
  double sum = 0.0;
  for (int i = 0; i < k_integration_steps; ++i) {
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
