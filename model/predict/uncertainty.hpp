/// What is not known well enough, and the measurement that would change that.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/predict/calibrate.hpp"
#include "model/predict/predict.hpp"

namespace stallcast {

/// Whether `key` can be answered for `job`; where not, why and what would unlock it.
[[nodiscard]] KeyAvailability availability(const JobModel& job, std::string_view key);

/// The measurement that bears on what most of the spread of `log_rates` (one a draw) comes from: the unknown with the
/// largest squared correlation. Empty where the spread is below a percent or no unknown explains a quarter of it.
[[nodiscard]] std::string widest_contribution(std::span<const Draw> draws, std::span<const double> log_rates);

}  // namespace stallcast
