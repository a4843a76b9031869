/// The keys of a scenario: one table. Whoever adds a key adds a row, with a member of Scenario that its value is kept
/// in.
#pragma once

#include <span>
#include <string_view>

#include "core/result.hpp"
#include "model/scenario/scenario.hpp"

namespace stallcast {

struct ScenarioKey {
  std::string_view name;
  /// Keeps a value. Errors (usage): no unit, an impossible value; each says what to write.
  Status (*set)(Scenario& scenario, std::string_view value);
  /// A value that every job accepts: asked with it, a job either answers or lacks a measurement (availability.hpp).
  std::string_view example;
  bool beyond_machine = false;  ///< asks for more than the machine that was profiled
};

/// All of them, in the order in which they are told; those beyond the machine are the last.
[[nodiscard]] std::span<const ScenarioKey> key_table();

}  // namespace stallcast
