/// The model's answers as text and CSV for a terminal. As JSON they come from model/predict/prediction_json.hpp.
#pragma once

#include <span>
#include <string>

#include "model/predict/predict.hpp"
#include "model/recommend/recommend.hpp"
#include "model/validate/validate.hpp"
#include "model/validate/verification.hpp"
#include "reports/render.hpp"

namespace stallcast::cli {

/// A table: change, samples/s, share of the step that waits, what binds. Notes that several rows share come once.
[[nodiscard]] std::string predictions_text(std::span<const Prediction> predictions);

/// A row per prediction: a column for each scenario key that occurs, then the numbers, each with its unit (RFC 4180).
[[nodiscard]] std::string predictions_csv(std::span<const Prediction> predictions);

[[nodiscard]] std::string recommendation_text(const Recommendation& recommendation);

/// The part of a recommendation that a report holds.
[[nodiscard]] LoaderAdvice loader_advice(const Recommendation& recommendation);

/// Predicted beside measured, the verdict, what was applied how and what was checked.
[[nodiscard]] std::string verification_text(const Verification& verification);

[[nodiscard]] std::string ledger_text(std::span<const LedgerRow> rows);

}  // namespace stallcast::cli
