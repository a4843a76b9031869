/// Which passes are trained on: those with optimizer steps. An evaluation may be over a loader like the training's, or
/// over the same one (the accuracy on the training data, two halves of a random split).
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "analyzer/load/run_data.hpp"

namespace stallcast {

/// Loaders that are created anew every epoch are one loader to the user: joined by what they look like. The length
/// tells the two parts of a random split apart, which are both of type Subset, where they are not halves.
using LoaderKey = std::tuple<std::string, std::int64_t, std::int64_t, int, std::int64_t>;

[[nodiscard]] LoaderKey key_of(const LoaderFacts& facts);

/// What is told of the loader that a pass is over.
[[nodiscard]] LoaderFacts facts_of(const Consumer& consumer, const Pass& pass);

/// When each batch of any loader was delivered, in order.
[[nodiscard]] std::vector<std::uint64_t> delivery_times(const Consumer& consumer);

/// Optimizer steps after a time.
[[nodiscard]] std::int64_t steps_after(const Consumer& consumer, std::uint64_t time_ns);

/// Optimizer steps from the first batch of a pass until the first batch of any loader after its last: the step on the
/// last batch belongs to the pass, too. `times`: delivery_times.
[[nodiscard]] std::int64_t steps_within(const Consumer& consumer, const std::vector<std::uint64_t>& times,
                                        const Pass& pass);

/// Whether the steps after all deliveries are most of all: batches are kept and given again.
[[nodiscard]] bool is_given_again(const Consumer& consumer, const std::vector<std::uint64_t>& times);

/// Fills in Pass::is_evaluation: of passes alike, those without an optimizer step, though so many batches have one in
/// the others. None where steps may have gone unseen (a captured graph that is replayed): where they end long before
/// their pass does, and where most are made on batches that were given before.
///
/// Worked example. Passes of 100 batches with 25, 0, 25 and 0 steps, a step for 4 batches: the second and the fourth
/// are evaluations. A pass of 3 batches without a step may be none.
void tell_evaluations(Consumer& consumer);

}  // namespace stallcast
