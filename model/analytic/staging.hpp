/// Closed forms of staging: a node's samples are copied from shared storage to its own disk, before the training or
/// while it runs (Serizawa & Tatebe, BDCAT 2019).
///
/// Worked example. A node trains on 100,000 samples an epoch, 10 epochs. Storage gives it 500 samples/s, its disk takes
/// 4000/s and gives 4000/s, its workers prepare 2000/s, its GPU trains on 1000/s. Direct: 10 x 200 s = 2000 s. Copied
/// before: 200 s + 10 x 100 s = 1200 s. Overlapped: the first epoch goes at the pace of storage and trains meanwhile:
/// 200 s + 9 x 100 s = 1100 s.
#pragma once

namespace stallcast::staging {

/// Samples a second of one node.
struct Rates {
  double storage = 0.0;     ///< from shared storage (F_pfs)
  double disk_read = 0.0;   ///< from its own disk (F_ssd)
  double disk_write = 0.0;  ///< to it (W_ssd)
  double prep = 0.0;        ///< U
  double train = 0.0;       ///< V
};

/// Seconds of an epoch from the disk: T_loc = D_n/min(F_ssd, U, V).
[[nodiscard]] double local_epoch_s(double samples, const Rates& rates);

/// Nothing is staged: E D_n/min(F_pfs, U, V).
[[nodiscard]] double direct_s(double samples, int epochs, const Rates& rates);

/// D_n/min(F_pfs, W_ssd) + E T_loc.
[[nodiscard]] double before_s(double samples, int epochs, const Rates& rates);

/// t_fill + D_n/min(F_pfs, W_ssd, U, V) + (E - 1) T_loc; `fill_s` passes until the first batch is there.
[[nodiscard]] double overlap_s(double samples, int epochs, double fill_s, const Rates& rates);

/// Share of the whole data set that a node has on its disk after `epochs`, where each epoch deals the samples to
/// `nodes` anew and a node keeps what it was dealt: 1 - (1 - 1/N)^e.
[[nodiscard]] double staged_share(int nodes, int epochs);

/// Epochs until a node has staged at least `share` (below 1) of the data set, likewise.
[[nodiscard]] int epochs_to_stage(int nodes, double share);

/// Share of reads that a disk of `disk_bytes` serves once it is full: it keeps what came first, as MinIO does.
[[nodiscard]] double disk_share(double disk_bytes, double data_bytes);

}  // namespace stallcast::staging
