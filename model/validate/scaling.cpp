#include "model/validate/scaling.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "model/analytic/cluster.hpp"

namespace stallcast {
namespace {

constexpr const char* k_locality =
    "Yang & Cong, Accelerating Data Loading in Deep Neural Network Training, HiPC 2019, read off its figures";

/// Seconds of an epoch on 16 to 256 nodes.
struct LoadingRow {
  const char* system;
  double read_off;  ///< error of a figure read off the plot, in seconds
  std::array<double, 5> seconds;
};

constexpr std::array<double, 5> k_nodes{16.0, 32.0, 64.0, 128.0, 256.0};

/// Everything cached by its node: preparing is divided among the nodes, balancing is not (eq. 3 and 8 with a = 1):
/// T = D/(p U) + b D/Rb. Both unknowns are taken from the ends; the middle follows.
void add_locality(const LoadingRow& published, std::vector<LedgerRow>& rows) {
  const auto& seconds = published.seconds;
  const double prep = (seconds.front() - seconds.back()) / (1.0 / k_nodes.front() - 1.0 / k_nodes.back());
  const double balancing = seconds.back() - prep / k_nodes.back();
  for (std::size_t i = 0; i < k_nodes.size(); ++i) {
    const bool fitted = i == 0 || i + 1 == k_nodes.size();
    rows.push_back({k_locality,
                    published.system,
                    fitted ? RowKind::fitted : RowKind::predicted,
                    {{"nodes", k_nodes[i]}, {"prep_node_s", prep}, {"balancing_s", balancing}},
                    "seconds an epoch, loading only",
                    seconds[i],
                    prep / k_nodes[i] + balancing,
                    false,
                    published.read_off / seconds[i]});
  }
}

/// Every node reads from one storage, whose ceiling in files a second binds from the first row on: T = D/R. The median
/// row gives R, the others follow; how far they scatter is part of what was published.
void add_ceiling(const LoadingRow& published, std::vector<LedgerRow>& rows) {
  std::array<double, 5> sorted = published.seconds;
  std::sort(sorted.begin(), sorted.end());
  const double ceiling_s = sorted[2];
  const double scatter = (sorted.back() - sorted.front()) / ceiling_s;
  for (std::size_t i = 0; i < k_nodes.size(); ++i) {
    rows.push_back({k_locality,
                    published.system,
                    published.seconds[i] == ceiling_s ? RowKind::fitted : RowKind::predicted,
                    {{"nodes", k_nodes[i]}, {"ceiling_s", ceiling_s}},
                    "seconds an epoch, loading only",
                    published.seconds[i],
                    ceiling_s,
                    false,
                    scatter});
  }
}

/// Training beside the regular loader: max(D/(p V), D/R). V from two nodes, R from 256.
void add_training(std::vector<LedgerRow>& rows) {
  constexpr std::array<double, 8> k_at{2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0};
  constexpr std::array<double, 8> k_seconds{451.0, 227.0, 114.0, 62.0, 40.0, 38.0, 51.0, 40.0};
  constexpr double k_read_off = 2.0;
  constexpr double k_plateau_scatter = (51.0 - 38.0) / 40.0;  // of the rows that one ceiling binds
  const double train_node_s = k_seconds.front() * k_at.front();
  const double ceiling_s = k_seconds.back();
  for (std::size_t i = 0; i < k_at.size(); ++i) {
    const double training_s = train_node_s / k_at[i];
    const bool at_ceiling = training_s < ceiling_s;
    rows.push_back({k_locality,
                    "training on ImageNet-1K, regular loader",
                    i == 0 || i + 1 == k_at.size() ? RowKind::fitted : RowKind::predicted,
                    {{"nodes", k_at[i]}, {"train_node_s", train_node_s}, {"ceiling_s", ceiling_s}},
                    "seconds an epoch",
                    k_seconds[i],
                    std::max(training_s, ceiling_s),
                    false,
                    at_ceiling ? k_plateau_scatter : k_read_off / k_seconds[i]});
  }
}

void add_balancing(std::vector<LedgerRow>& rows) {
  constexpr std::array<std::pair<double, double>, 3> k_medians{{{32.0, 0.069}, {64.0, 0.048}, {128.0, 0.034}}};
  constexpr double k_learners = 1024.0;  // 256 nodes of 4
  for (const auto& [samples, share] : k_medians) {
    rows.push_back({k_locality,
                    "locality-aware loading, balancing",
                    RowKind::predicted,
                    {{"learners", k_learners}, {"samples_per_learner", samples}},
                    "share of the data set moved in an epoch",
                    share,
                    cluster::balancing_share(k_learners, samples)});
  }
}

/// Nodes that only compute, each on a quarter of a batch of samples of normally distributed size, and wait for the
/// slowest: E steps (mean + sd d_N)/c.
void add_lower_bounds(std::vector<LedgerRow>& rows) {
  struct Bound {
    double samples;
    double mean_mb;
    double sd_mb;
    double epochs;
    double seconds;
  };
  constexpr double k_ranks = 4.0;
  constexpr double k_batch = 100.0;
  constexpr double k_mb_per_s = 100.0;
  constexpr std::array<Bound, 2> k_bounds{{{10e3, 0.027, 0.01, 10.0, 7.30}, {400e3, 3.0, 0.2, 5.0, 15204.78}}};
  for (const Bound& bound : k_bounds) {
    const double share = k_batch / k_ranks;
    const double slowest_mb =
        share * bound.mean_mb + std::sqrt(share) * bound.sd_mb * cluster::expected_largest(k_ranks);
    rows.push_back(
        {k_nopfs,
         "lower bound of 4 nodes that wait for each other in each step",
         RowKind::predicted,
         {{"nodes", k_ranks}, {"samples", bound.samples}, {"mean_mb", bound.mean_mb}, {"sd_mb", bound.sd_mb}},
         "total seconds",
         bound.seconds,
         bound.epochs * bound.samples / k_batch * slowest_mb / k_mb_per_s});
  }
}

}  // namespace

void add_scaling_rows(std::vector<LedgerRow>& rows) {
  add_ceiling({"ImageNet-1K, regular loader", 0.2, {60.4, 61.0, 67.9, 61.7, 63.3}}, rows);
  add_ceiling({"ImageNet-1K, regular loader, 4 threads a worker", 0.2, {48.6, 44.7, 39.8, 40.7, 44.3}}, rows);
  add_locality({"ImageNet-1K, locality-aware", 0.2, {45.7, 23.7, 12.6, 7.0, 4.0}}, rows);
  add_locality({"ImageNet-1K, locality-aware, 4 threads a worker", 0.2, {22.1, 11.3, 6.0, 3.4, 2.1}}, rows);
  add_locality({"UCF-RGB, locality-aware", 0.3, {39.9, 20.7, 11.1, 6.3, 3.3}}, rows);
  add_locality({"UCF-RGB, locality-aware, 4 threads a worker", 0.3, {33.3, 16.5, 8.7, 4.5, 2.7}}, rows);
  add_training(rows);
  add_balancing(rows);
  add_lower_bounds(rows);
}

}  // namespace stallcast
