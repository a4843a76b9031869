/// The recommendation as JSON: `recommend --json`.
#pragma once

#include <nlohmann/json.hpp>

#include "model/recommend/recommend.hpp"

namespace stallcast {

/// {"schema_version", "verdict", "change_loader", "loader_line", "loader", "gain_frac", "as_found", "predicted",
/// "remedies": [...], "without_gain": [...], "unanswered": [...], "narrowed_by", "notes": [...]}.
[[nodiscard]] nlohmann::json to_json(const Recommendation& recommendation);

}  // namespace stallcast
