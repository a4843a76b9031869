/// Answers to every combination of a few values of the most asked keys, for the sliders of the HTML report.
///
/// Every point is the answer that `whatif` gives to that one question (the loader recursion), so the grid is small:
/// one or two thousand points, answered on all cores at hand. Where the profile cannot tell about storage, cache and
/// storage leave the grid, and the other axes get more values.
#pragma once

#include "analyzer/profile/profile.hpp"
#include "core/result.hpp"
#include "model/scenario/prediction.hpp"

namespace stallcast {

/// `more_workers`: a number of workers that must be on the grid (the recommended one); 0 for none. Errors as
/// Predictor::make.
[[nodiscard]] Result<PredictionGrid> prediction_grid(const Profile& profile, int more_workers);

/// That grid before it is answered: of its points only the scenario is known. Errors as there.
[[nodiscard]] Result<PredictionGrid> unanswered_grid(const Profile& profile, int more_workers);

}  // namespace stallcast
