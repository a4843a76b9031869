/// What a prediction's interval is wide by, and the measurement that would narrow it.
#pragma once

#include <span>
#include <string>

#include "model/predict/calibrate.hpp"

namespace stallcast {

/// The measurement that bears on what most of the spread of `log_rates` (one a draw) comes from: the unknown with the
/// largest squared correlation. Empty where the spread is below a percent or no unknown explains a quarter of it.
[[nodiscard]] std::string widest_contribution(std::span<const Draw> draws, std::span<const double> log_rates);

}  // namespace stallcast
