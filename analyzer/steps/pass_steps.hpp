/// Of one pass over a loader: which of its steps are steady, and what a step is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/load/run_data.hpp"
#include "analyzer/steps/steady.hpp"

namespace stallcast::steady {

/// Whether one of the times, which are sorted, lies in [from, to).
[[nodiscard]] bool any_within(const std::vector<std::uint64_t>& times, std::uint64_t from, std::uint64_t to);

/// From one time in nanoseconds to another; 0 where that is earlier.
[[nodiscard]] double seconds(std::uint64_t from_ns, std::uint64_t to_ns);

/// The step from one delivery to the next. `batch_size`: where the delivery does not say how many samples it holds.
[[nodiscard]] SteadyStep make_step(const Delivery& before, const Delivery& now, std::int64_t batch_size);

/// Batches at the begin and at the end of a pass that are not steady.
struct Trim {
  std::size_t lead = 1;
  std::size_t tail = 0;
};

/// How much of a pass lies: at the start the queue is empty, at the end the workers have nothing left to do. A loader
/// of threads does not say how far it prefetches.
[[nodiscard]] Trim trim_of(const LoaderFacts& facts, std::size_t deliveries);

/// When the job ran as it was found.
struct Found {
  std::uint64_t until_ns = UINT64_MAX;
  const std::vector<Stretch>& again;

  [[nodiscard]] bool holds(const Delivery& before, const Delivery& now) const;
};

/// Adds the steady steps of a pass to the window. `others`: when other loaders were asked for batches, sorted.
void take_pass(const Pass& pass, const LoaderFacts& facts, const std::vector<std::uint64_t>& others, const Found& found,
               SteadyWindow& window);

/// Whether the script takes one batch of each pass and drops it.
[[nodiscard]] bool is_iterator_per_step(const std::vector<const Pass*>& passes);

/// A step from each pass to the next, the first of which is left out.
void take_single_batches(const std::vector<const Pass*>& passes, const LoaderFacts& facts, SteadyWindow& window);

}  // namespace stallcast::steady
