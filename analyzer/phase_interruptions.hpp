/// What interrupts a block: an evaluation, a checkpoint, the end of a pass that is joined with the next one.
///
/// Workers go on meanwhile, and what lies ready then comes faster. A block that is interrupted is measured in pieces:
/// each ends with the last delivery before the interruption, and the next one begins with the first batch whose making
/// began after it.
///
/// Worked example, 2 workers x prefetch 2. Of a window 4..40 the script evaluates between 15 and 16. Batches 16 to 19
/// lay ready or were under way when it came back; 20 is the first that was begun after that. The pieces are 4..15 and
/// 20..40; with both ends averaged over a bunch of two arrivals, batches 6..15 and 22..40 count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/phase_windows.hpp"

namespace stallcast {

/// Something other than steps. `pause_ns`: how long it lasted, where that decides whether it is one.
struct Interruption {
  std::uint64_t begin_ns = 0;
  std::uint64_t pause_ns = UINT64_MAX;
};

/// When another loader was asked for batches, when a checkpoint was written, and when a pass ended that was joined with
/// the next one; in order of time.
[[nodiscard]] std::vector<Interruption> interruptions_of(const Consumer& consumer,
                                                         const std::vector<record::ProcessRecording>& processes);

/// Deliveries of the window whose step was interrupted. What happens in every step (a second loader) belongs to the
/// step, and so does the end of a pass that takes less than a tenth of one.
[[nodiscard]] std::vector<std::size_t> interrupted_steps(std::span<const Delivery> deliveries,
                                                         const BlockWindow& window,
                                                         const std::vector<Interruption>& interruptions);

/// The stretches of the window between the interrupted steps in which the workers' queue is as it is in steady steps.
[[nodiscard]] std::vector<BlockWindow> pieces_of(std::span<const Delivery> deliveries, const BlockWindow& window,
                                                 const std::vector<std::size_t>& interrupted);

}  // namespace stallcast
