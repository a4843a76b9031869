#include "model/validate/remedies.hpp"

#include <array>
#include <cmath>
#include <span>

#include "model/analytic/cluster.hpp"
#include "model/analytic/shards.hpp"

namespace stallcast {
namespace {

constexpr const char* k_diesel =
    "Wang et al., DIESEL: A Dataset-Based Distributed Storage and Caching System, ICPP 2020";

/// The same constants in the same formula: proves that it is the published one.
void add_shards(std::vector<LedgerRow>& rows) {
  constexpr shards::Stream k_stream{1e-3, 1e9};
  constexpr double k_sample = 4e3;
  constexpr double k_chunk = 4e6;
  rows.push_back({k_diesel,
                  "samples of 4 KB in chunks of 4 MB",
                  RowKind::identity,
                  {{"latency_s", 1e-3}, {"bandwidth_bytes_per_s", 1e9}, {"sample_bytes", 4e3}, {"chunk_bytes", 4e6}},
                  "latency of a sample alone over that in a chunk",
                  200.0,
                  shards::file_s(k_sample, k_stream) / shards::shard_s(k_sample, k_chunk, k_stream)});
}

/// Loading and computing add up there, so the whole saves what loading saves, times loading's share. "About a half" may
/// stand for any share down to 1/2.5, a fifth less, where "about a third" would be as near; a third down to 1/3.5.
void add_totals(std::vector<LedgerRow>& rows) {
  struct Total {
    const char* network;
    double loading_share;
    double loading_saved;
    double published;
    double share_err;  ///< of a unit fraction 1/n that stands for all down to 1/(n + 1/2)
  };
  constexpr std::array<Total, 2> k_totals{{
      {"AlexNet on ImageNet, the largest saving", 1.0 / 2.0, 0.58, 0.27, 1.0 / 5.0},
      {"ResNet-50 on ImageNet, the smallest saving", 1.0 / 3.0, 0.51, 0.15, 1.0 / 7.0},
  }};
  for (const Total& total : k_totals) {
    rows.push_back({k_diesel,
                    total.network,
                    RowKind::predicted,
                    {{"loading_frac", total.loading_share}, {"loading_saved_frac", total.loading_saved}},
                    "share of the training time saved",
                    total.published,
                    total.loading_share * total.loading_saved,
                    false,
                    total.share_err});
  }
}

/// MB a second that each node gets through that reads, is busy with what it read for so many seconds a MB, and reads
/// again. `together[n - 1]`: MB/s that n nodes share which read at a time. That n of N do has the probability of a
/// closed product-form network (Baskett, Chandy, Muntz & Palacios, JACM 1975), which goes with busy^(N - n) / (N - n)!
/// / (together[0] ... together[n - 1]).
double rate_of_node(std::span<const double> together, double busy_s_per_mb) {
  const auto nodes = static_cast<double>(together.size());
  double weight = 1.0;  // over that of nobody who reads
  double sum = weight;
  double delivered = 0.0;
  for (std::size_t n = 1; n <= together.size(); ++n) {
    weight *= (nodes - static_cast<double>(n) + 1.0) / (busy_s_per_mb * together[n - 1]);
    sum += weight;
    delivered += weight * together[n - 1];
  }
  return delivered / sum / nodes;
}

/// The naive policy reads a sample from the parallel file system, prepares it, computes on it, and reads the next:
/// nothing is prefetched. The nodes that read share what the file system gives so many; all wait for the slowest at the
/// end of a batch, as in the lower bounds (model/validate/scaling).
void add_naive(std::vector<LedgerRow>& rows) {
  struct Naive {
    double samples;
    double mean_mb;
    double sd_mb;
    int epochs;
    double seconds;
  };
  constexpr double k_batch = 100.0;
  constexpr double k_compute_mb_per_s = 100.0;
  constexpr double k_prep_mb_per_s = 200.0;
  constexpr std::array<double, 4> k_together{66.0, 86.0, 129.0, 146.0};  // t(1) to t(4), MB/s
  constexpr std::array<Naive, 2> k_runs{{{10e3, 0.027, 0.01, 10, 27.78}, {400e3, 3.0, 0.2, 5, 60526.36}}};
  constexpr double k_nodes = k_together.size();
  for (const Naive& run : k_runs) {
    const double share = k_batch / k_nodes;
    const double slowest_mb = share * run.mean_mb + std::sqrt(share) * run.sd_mb * cluster::expected_largest(k_nodes);
    const double mb_per_s = rate_of_node(k_together, 1.0 / k_prep_mb_per_s + 1.0 / k_compute_mb_per_s);
    rows.push_back({k_nopfs,
                    "naive policy, 4 nodes that read, prepare, then compute",
                    RowKind::predicted,
                    {{"nodes", k_nodes},
                     {"samples", run.samples},
                     {"mean_mb", run.mean_mb},
                     {"sd_mb", run.sd_mb},
                     {"storage_of_1_mb_per_s", k_together[0]},
                     {"storage_of_2_mb_per_s", k_together[1]},
                     {"storage_of_3_mb_per_s", k_together[2]},
                     {"storage_of_4_mb_per_s", k_together[3]},
                     {"prep_mb_per_s", k_prep_mb_per_s},
                     {"compute_mb_per_s", k_compute_mb_per_s}},
                    "total seconds",
                    run.seconds,
                    run.epochs * run.samples / k_batch * slowest_mb / mb_per_s});
  }
}

}  // namespace

void add_remedy_rows(std::vector<LedgerRow>& rows) {
  add_shards(rows);
  add_totals(rows);
  add_naive(rows);
}

}  // namespace stallcast
