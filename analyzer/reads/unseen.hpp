/// Reads that no probe sees: page faults of mapped files, and programs that the makers of batches start.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/steps/rank_view.hpp"

namespace stallcast::sections {

/// Batches that are read by page faults of the thread that makes them.
struct FaultReading {
  double blocked_without_s =
      0.0;                 ///< seconds that it is blocked for a batch without such faults; 0 where each has some
  double cpu_share = 0.0;  ///< of the CPU time of batches that have some, in the kernel
};

/// Where the training thread makes its batches itself and reads them through maps, page faults block it, and nothing
/// else that is not seen does. Empty where the data are read in another way, or by others.
[[nodiscard]] std::optional<FaultReading> reading_by_faults(const RunData& run, const std::vector<RankView>& ranks);

/// How the job read its data where no probe sees it: much came from storage while batches were made (page faults and
/// what children read that were waited for count in /proc/PID/io), and hardly a read() asked for it. Through maps of
/// files, by programs that the makers of batches start, or in another way; empty where reads were seen.
[[nodiscard]] std::string unseen_reading(const RunData& run, const std::vector<RankView>& ranks);

}  // namespace stallcast::sections
