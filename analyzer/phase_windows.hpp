/// Which deliveries of a block count: the transients of both its ends are left out, by what was recorded of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "analyzer/phase_blocks.hpp"

namespace stallcast {

/// What the process that made a batch found; nullptr: it told nothing.
struct BatchEvidence {
  const record::PhaseRecord* phase = nullptr;
  const record::MappedRecord* mapped = nullptr;
};

/// Of the processes that made a pass's batches, by segment and batch.
using BlockEvidence = std::map<std::pair<std::uint32_t, std::uint64_t>, BatchEvidence>;

struct BlockWindow {
  std::size_t first = 0;  ///< first delivery inside
  std::size_t last = 0;   ///< last delivery inside
  bool empty = true;
  std::uint64_t closed_ns = 0;  ///< until then workers had this block to make; 0 or UINT64_MAX: not known
};

/// The deliveries of `block`, one of `pass`, that count. `block` is not empty.
[[nodiscard]] BlockWindow window_of(const Consumer& consumer, const Pass& pass, std::span<const Delivery> block,
                                    const SegmentRun& run, const LoaderFacts& loader, const BlockEvidence& evidence);

/// Why a stream's block as found does not tell the job's rate, where nobody saw how its batches were made: the loader
/// went on while batches were replayed, and what it had ready may have lasted through the block. Empty if it does.
///
/// Worked example. Before any batch was replayed the job waited for 10 % of its time (the second half of what a pass
/// had delivered by then), in the block for 1 %: the block is left out. Had it waited for 6 %, or for 4 % before, it
/// would count. `waited`: share of the time of its window; 0 where that never opened.
[[nodiscard]] std::string lived_on_stock(const Consumer& consumer, const Pass& pass, const SegmentRun& run,
                                         double waited);

}  // namespace stallcast
