#include "analyzer/blocks/read_ahead.hpp"

#include <algorithm>
#include <cstdio>

#include "analyzer/blocks/constants.hpp"

namespace stallcast {

using record::Phase;

void take_off_read_ahead(PhaseBlock& block) {
  const PhaseEvidence& seen = block.evidence;
  if (!block.run.iterable || block.run.phase != Phase::cold || !seen.storage_known || seen.read_bytes <= 0.0) return;
  if (block.late_seconds < k_waits_for_storage * block.seconds) return;
  if (static_cast<double>(seen.opens) >= k_opens_each * static_cast<double>(seen.batches)) return;
  const double share = seen.storage_bytes / seen.read_bytes;
  if (share < 1.0 - k_most_read_ahead_of_block)
    return;  // its bytes were in memory, for whatever reason: its premise says so
  if (share > 1.0 + k_most_read_ahead_of_block) {
    char text[160];
    std::snprintf(
        text, sizeof text,
        "far more came from storage than it read (%.0f %%): what the kernel reads ahead is not small beside it",
        100.0 * share);
    block.rejected = text;
    return;
  }
  const bool made_known = block.made_cpu_s > 0.0 && block.made_wall_s > 0.0;
  const double computes = made_known ? std::min(1.0, block.made_cpu_s / block.made_wall_s) : 1.0;
  if (made_known && computes > k_computes_most) return;
  const double more = block.seconds * (1.0 / share - 1.0);
  block.seconds += more;
  block.wait_seconds = std::max(0.0, block.wait_seconds + more);
  block.late_seconds = std::max(0.0, block.late_seconds + more);
}

void refuse_read_twice(PhaseBlock& block) {
  const PhaseEvidence& seen = block.evidence;
  if (!seen.storage_known || seen.storage_bytes <= (1.0 + k_most_read_ahead_of_block) * seen.read_bytes) return;
  char text[160];
  std::snprintf(text, sizeof text, "far more came from storage than its shards hold (%.0f %%): they were read twice",
                100.0 * seen.storage_bytes / seen.read_bytes);
  block.rejected = text;
}

}  // namespace stallcast
