/// Predictions and a recommendation for tests of reports.
#pragma once

#include <vector>

#include "model/scenario/prediction.hpp"
#include "reports/render.hpp"

namespace stallcast::testing {

[[nodiscard]] std::vector<Prediction> sample_predictions();
/// Two axes, six combinations of which two share a point; strings that attack.
[[nodiscard]] PredictionGrid sample_grid();

/// Over workers, with one point marked; over the cache, with two lines and hostile words; and one that is absent.
[[nodiscard]] std::vector<PredictionCurve> sample_curves();
[[nodiscard]] LoaderAdvice sample_recommendation();

}  // namespace stallcast::testing
