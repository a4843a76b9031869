/// What the profile calls the states that a measured run makes.
#pragma once

#include "probes/record/control.hpp"

namespace stallcast {

/// "cold", "cached", ... as in the profile.
[[nodiscard]] const char* phase_name(record::Phase phase);

}  // namespace stallcast
