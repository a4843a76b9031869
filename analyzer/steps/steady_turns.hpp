/// What of the steps that were taken is no steady turn of the workers.
#pragma once

#include "analyzer/steps/steady.hpp"

namespace stallcast {

/// Leaves out of `window.steps` the warm-up at their beginning, and of each stretch of steps what is no whole turn of
/// the workers. What was waited for other loaders becomes that of the steps that stay.
void keep_steady_turns(SteadyWindow& window);

}  // namespace stallcast
