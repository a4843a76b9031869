/// What a simulation adds to an answer of `whatif`, as text.
#pragma once

#include <span>
#include <string>

#include "model/scenario/prediction.hpp"

namespace stallcast::cli {

/// For each prediction with a simulation a table of its epochs, what is busy, how far nodes are apart, and how the
/// closed form compares; at most 80 columns but for the scenario's own words. Empty where there is none.
[[nodiscard]] std::string simulations_text(std::span<const Prediction> predictions);

}  // namespace stallcast::cli
