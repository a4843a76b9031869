/// A training that takes its batches from several loaders by turns: each batch of any of them is trained on before the
/// next one is asked for (tasks, data sets that are mixed).
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "analyzer/load/run_data.hpp"

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

}  // namespace stallcast
