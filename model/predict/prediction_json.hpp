/// Predictions as JSON: `whatif --json`, and part of every other answer of the model.
#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "model/scenario/prediction.hpp"

namespace stallcast {

inline constexpr int k_prediction_schema_version = 1;

/// JSON has no infinity; a number that is not one is absent (null).
[[nodiscard]] nlohmann::json json_number(double value);

/// One prediction; every key carries its unit, an absent epoch is null. "simulation" is there only where it was asked
/// for.
[[nodiscard]] nlohmann::json to_json(const Prediction& prediction);

/// {"schema_version", "predictions": [...]}.
[[nodiscard]] nlohmann::json predictions_to_json(std::span<const Prediction> predictions);

}  // namespace stallcast
