/// How one block is measured: by what its workers made, by the whole shards that they read, or by its deliveries; and
/// what the makers of the batches that count have found. Internal to the analyzer.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/blocks/blocks.hpp"
#include "analyzer/blocks/sums.hpp"
#include "analyzer/blocks/windows.hpp"
#include "analyzer/steps/first_reads.hpp"

namespace stallcast {

/// One block while it is measured.
struct Measuring {
  const Consumer& consumer;
  const Pass& pass;
  BlockCourse course{};
  const LoaderFacts& loader;
  const std::vector<std::uint64_t>& interruptions;
  const BlockEvidence& evidence;
  const FirstReads& first_reads;
  std::optional<double> shard_batches{};  ///< of a stream whose shards are alike
};

/// The block of a segment; rejected, with the reason, where it tells nothing.
[[nodiscard]] PhaseBlock block_of(const Measuring& m, const SegmentRun& run);

}  // namespace stallcast
