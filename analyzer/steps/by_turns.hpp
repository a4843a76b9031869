/// A training that takes its batches from several loaders by turns: each step is made on a batch of one of them, or on
/// several of one where gradients are accumulated (tasks, data sets that are mixed).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "analyzer/load/run_data.hpp"
#include "analyzer/steps/pass_steps.hpp"

namespace stallcast {

/// One delivery of a pass that takes turns with others.
struct Turn {
  const Pass* pass = nullptr;
  const Delivery* delivery = nullptr;
};

/// All deliveries of the passes that take turns, in order of time; empty where there are no two such. A pass does whose
/// batches are trained on without another's (k_trained_alone of them), while another one such is under way.
[[nodiscard]] std::vector<Turn> turns_of(const Consumer& consumer);

/// Of each pass: optimizer steps on its batches alone, since the step before.
[[nodiscard]] std::map<const Pass*, std::size_t> steps_alone(const Consumer& consumer);

/// Adds the steady steps on these batches to the window: from each delivery to the next one of any of the loaders.
/// While a pass fills its queue, or drains it, none counts. `others`: when other loaders were asked for batches,
/// sorted.
void take_turns(const std::vector<Turn>& turns, const Consumer& consumer, const std::vector<std::uint64_t>& others,
                const steady::Found& found, SteadyWindow& window);

/// When loaders that take no turns were asked for batches, sorted.
[[nodiscard]] std::vector<std::uint64_t> waits_beside(const Consumer& consumer, const std::vector<Turn>& turns);

}  // namespace stallcast
