/// Whether anybody besides the job used the cores that it may use.
#pragma once

#include <cmath>

#include "core/measured.hpp"

namespace stallcast {

/// True where what others used was counted and is next to nothing: 5 % of the cores, which keeps nobody from them.
/// `other_cpus`, `usable_cpus`: in cores. What was not counted, or cannot be a count, says nothing: false.
[[nodiscard]] inline bool nobody_else(const Measured<double>& other_cpus, double usable_cpus) {
  constexpr double k_nobody = 0.05;
  return other_cpus && std::isfinite(*other_cpus) && *other_cpus >= 0.0 && *other_cpus <= k_nobody * usable_cpus;
}

}  // namespace stallcast
