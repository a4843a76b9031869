/// Sections of the sample profiles.
#pragma once

#include "analyzer/profile/profile.hpp"

namespace stallcast::testing {

/// Where CPU time goes, as seen on a virtual machine: no hardware counters.
[[nodiscard]] Cpu sampled();

/// A network file system with a rate of its own: one read at a time does not reach it.
[[nodiscard]] Storage provisioned();

}  // namespace stallcast::testing
