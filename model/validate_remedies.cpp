#include "model/validate_remedies.hpp"

#include <array>
#include <cmath>

#include "model/cluster.hpp"
#include "model/shards.hpp"
#include "model/staging.hpp"

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

/// The naive policy reads a batch from the parallel file system, then computes on it: nothing is prefetched. Nodes wait
/// for the slowest, as in the lower bounds (model/validate_scaling); each gets its part of what the file system gives
/// four at once.
void add_naive(std::vector<LedgerRow>& rows) {
  struct Naive {
    double samples;
    double mean_mb;
    double sd_mb;
    int epochs;
    double seconds;
  };
  constexpr int k_nodes = 4;
  constexpr double k_batch = 100.0;
  constexpr double k_compute_mb_per_s = 100.0;
  constexpr double k_storage_mb_per_s = 146.0;  // t(4)
  constexpr std::array<Naive, 2> k_runs{{{10e3, 0.027, 0.01, 10, 27.78}, {400e3, 3.0, 0.2, 5, 60526.36}}};
  for (const Naive& run : k_runs) {
    const double share = k_batch / k_nodes;
    const double slowest_mb = share * run.mean_mb + std::sqrt(share) * run.sd_mb * cluster::expected_largest(k_nodes);
    const double mb_per_s = staging::storage_rate(1.0, 0.0, 1.0, 1e12, k_storage_mb_per_s, k_nodes);
    const double step_s = slowest_mb / mb_per_s + slowest_mb / k_compute_mb_per_s;
    rows.push_back({k_nopfs,
                    "naive policy, 4 nodes that read, then compute",
                    RowKind::predicted,
                    {{"nodes", k_nodes},
                     {"samples", run.samples},
                     {"mean_mb", run.mean_mb},
                     {"sd_mb", run.sd_mb},
                     {"storage_mb_per_s", k_storage_mb_per_s},
                     {"compute_mb_per_s", k_compute_mb_per_s}},
                    "total seconds",
                    run.seconds,
                    run.epochs * run.samples / k_batch * step_s});
  }
}

}  // namespace

void add_remedy_rows(std::vector<LedgerRow>& rows) {
  add_shards(rows);
  add_totals(rows);
  add_naive(rows);
}

}  // namespace stallcast
