/// What if an operator of the workers (a transform, decoding, collating) were faster, or gone: as the user writes it.
#pragma once

#include <string_view>

#include "core/result.hpp"
#include "model/scenario/scenario.hpp"

namespace stallcast {

/// "Resize:x2", "transform[2]:off", several joined by '+', into `scenario.operators`. Errors (usage) say what to write.
[[nodiscard]] Status set_operators(Scenario& scenario, std::string_view value);

}  // namespace stallcast
