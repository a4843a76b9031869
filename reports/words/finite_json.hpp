/// Numbers in JSON, which knows no infinity.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>

namespace stallcast::reports {

/// The number, or null where it is not finite.
[[nodiscard]] inline nlohmann::json finite_or_null(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr);
}

}  // namespace stallcast::reports
