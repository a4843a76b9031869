/// Which deliveries of a block count: the transients of both its ends are left out, by what was recorded of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "analyzer/blocks/blocks.hpp"

namespace stallcast {

/// The deliveries of a block and what follows them.
struct BlockCourse {
  std::span<const Delivery> block{};  ///< not empty
  /// These, and those of the burst behind them where its batches are made in the same state: the workers go on then.
  std::span<const Delivery> alike{};
  std::uint64_t until_ns = UINT64_MAX;  ///< when the hold before that burst began
};

struct BlockWindow {
  std::size_t first = 0;  ///< first delivery inside
  std::size_t last = 0;   ///< last delivery inside
  bool empty = true;
  bool full = false;                        ///< all that was under way lay ready before its first and its last delivery
  std::uint64_t opened_ns = 0;              ///< the script came to the block
  std::uint64_t all_at_it_ns = UINT64_MAX;  ///< each worker makes batches of this block; UINT64_MAX: not known
  std::uint64_t used_up_ns =
      UINT64_MAX;               ///< from storage: what it saved up in k_saved_up_ns is used up; UINT64_MAX: not known
  std::uint64_t closed_ns = 0;  ///< until then workers had it to make; 0 or UINT64_MAX: not known
};

/// Whether the block begins with the first batch of a pass.
[[nodiscard]] bool begins_pass(std::span<const Delivery> block);

/// The deliveries of the block, one of `pass`, that count.
[[nodiscard]] BlockWindow window_of(const Consumer& consumer, const Pass& pass, const BlockCourse& course,
                                    const SegmentRun& run, const LoaderFacts& loader);

/// Of a job that takes batches more slowly than they are made: from the first to the last delivery before which all
/// that was under way lay ready. As many were made as were delivered between the two, whatever the block began with,
/// unless the script paused. Absent where `other` is as long.
///
/// Worked example. 2 workers, 2 prefetched by each, behind a burst; a batch is made in 3 ms, a step takes 10 ms. Before
/// the first delivery nothing is ready, before the second all four are. A window by what fills a queue would open with
/// the fifth.
[[nodiscard]] std::optional<BlockWindow> full_window(const Pass& pass, const BlockCourse& course, const SegmentRun& run,
                                                     const LoaderFacts& loader, const BlockWindow& other);

/// Why a stream's block as found does not tell the job's rate, where nobody saw how its batches were made: the loader
/// went on while the script was given a burst, and what it had ready may have lasted through the block. Empty if it
/// does.
///
/// Worked example. Before it was ever held back the job waited for 10 % of its time (the second half of what a pass had
/// delivered by then), in the block for 1 %: the block is left out. Had it waited for 6 %, or for 4 % before, it would
/// count. `waited`: share of the time of its window; 0 where that never opened.
[[nodiscard]] std::string lived_on_stock(const Consumer& consumer, const Pass& pass, const SegmentRun& run,
                                         double waited);

}  // namespace stallcast
