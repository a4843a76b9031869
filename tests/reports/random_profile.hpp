/// Profiles drawn at random, absurd ones among them, for property tests.
#pragma once

#include <random>

#include "analyzer/profile/profile.hpp"

namespace stallcast::testing {

/// Every field is set, or absent with a reason; strings hold every kind of byte. The same seed gives the same profile.
[[nodiscard]] Profile random_profile(unsigned seed);

}  // namespace stallcast::testing
