/// The model's answers as JSON: `whatif --json`, `recommend --json`, `validate --json`.
#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "model/prediction.hpp"
#include "model/recommend.hpp"
#include "model/validate.hpp"

namespace stallcast {

inline constexpr int k_prediction_schema_version = 1;

/// JSON has no infinity; a number that is not one is absent (null).
[[nodiscard]] nlohmann::json json_number(double value);

/// One prediction; every key carries its unit, an absent epoch is null. "simulation" is there only where it was asked
/// for.
[[nodiscard]] nlohmann::json to_json(const Prediction& prediction);

/// {"schema_version", "predictions": [...]}.
[[nodiscard]] nlohmann::json predictions_to_json(std::span<const Prediction> predictions);

/// {"schema_version", "verdict", "change_loader", "loader_line", "loader", "gain_frac", "as_found", "predicted",
/// "remedies": [...], "without_gain": [...], "unanswered": [...], "narrowed_by", "notes": [...]}.
[[nodiscard]] nlohmann::json to_json(const Recommendation& recommendation);

/// {"schema_version", "rows": [...], "summary": {...}, "not_replayed": [...]}.
[[nodiscard]] nlohmann::json ledger_to_json(std::span<const LedgerRow> rows);

}  // namespace stallcast
