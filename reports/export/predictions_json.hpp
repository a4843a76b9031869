/// Predictions as JSON: what `whatif --json` prints and what the JSON report appends to the profile.
#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "model/scenario/prediction.hpp"

namespace stallcast {

/// Of the object that predictions_json makes.
inline constexpr int k_predictions_schema_version = 1;

/// {"schema_version", "predictions":[{"scenario":{}, "throughput_samples_per_s":{"mean","ci90_low","ci90_high"},
/// "step_s", "epoch_s" (null with "epoch_absent" where unknown), "stall_frac", "bound", "next_bound", "headroom_frac",
/// "extrapolated", "notes"}]}. Numbers that are not finite become null; strings are made valid UTF-8.
[[nodiscard]] nlohmann::json predictions_json(std::span<const Prediction> predictions);

}  // namespace stallcast
