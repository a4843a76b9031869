/// A training that takes its batches from several loaders by turns: each batch of any of them is trained on before the
/// next one is asked for (tasks, data sets that are mixed).
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
/// batches are followed by an optimizer step before any loader gives another one (k_trained_at_once of them), while
/// another one such is under way.
[[nodiscard]] std::vector<Turn> turns_of(const Consumer& consumer);

/// Of each pass: its batches that an optimizer step followed before any loader gave another one.
[[nodiscard]] std::map<const Pass*, std::size_t> trained_at_once(const Consumer& consumer);

/// Adds the steady steps on these batches to the window: from each delivery to the next one of any of the loaders.
/// While a pass fills its queue, or drains it, none counts. `others`: when other loaders were asked for batches,
/// sorted.
void take_turns(const std::vector<Turn>& turns, const Consumer& consumer, const std::vector<std::uint64_t>& others,
                const steady::Found& found, SteadyWindow& window);

/// When loaders that take no turns were asked for batches, sorted.
[[nodiscard]] std::vector<std::uint64_t> waits_beside(const Consumer& consumer, const std::vector<Turn>& turns);

}  // namespace stallcast
