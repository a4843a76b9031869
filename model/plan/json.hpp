/// `plan --json`.
#pragma once

#include <nlohmann/json.hpp>

#include "model/plan/plan.hpp"

namespace stallcast {

/// {"schema_version", "currency", "verdict", "choice", "nearest", "front": [...], "buy_next", "hangs_on",
/// "curves": [{"machine", "weak", "strong"}], "curves_left_out", "candidates", "left_out": [...], "notes": [...]}; an
/// option that there is none of is null (model/schema/plan.schema.json).
[[nodiscard]] nlohmann::json plan_to_json(const Plan& plan, const Catalog& catalog);

}  // namespace stallcast
