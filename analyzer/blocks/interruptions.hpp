/// What interrupts a block: an evaluation, a checkpoint.
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

#include "analyzer/blocks/windows.hpp"

namespace stallcast {

/// When another loader was asked for batches, and when a checkpoint was written (CLOCK_MONOTONIC), in order of time.
[[nodiscard]] std::vector<std::uint64_t> interruptions_of(const Consumer& consumer,
                                                          const std::vector<record::ProcessRecording>& processes);

/// Whether more than half of the steps from one of the deliveries to the next are interrupted: what happens in every
/// step (a second loader) belongs to the step.
[[nodiscard]] bool in_most_steps(std::span<const Delivery> deliveries, const std::vector<std::uint64_t>& interruptions);

/// Whether one of `interruptions` lies in [from_ns, to_ns).
[[nodiscard]] bool interrupted_between(const std::vector<std::uint64_t>& interruptions, std::uint64_t from_ns,
                                       std::uint64_t to_ns);

/// Deliveries of the window whose step was interrupted; none where most of them are.
[[nodiscard]] std::vector<std::size_t> interrupted_steps(std::span<const Delivery> deliveries,
                                                         const BlockWindow& window,
                                                         const std::vector<std::uint64_t>& interruptions);

/// The stretches of the window between the interrupted steps in which the workers' queue is as it is in steady steps.
[[nodiscard]] std::vector<BlockWindow> pieces_of(std::span<const Delivery> deliveries, const BlockWindow& window,
                                                 const std::vector<std::size_t>& interrupted);

}  // namespace stallcast
