/// The loader recursion fed by the measured distributions: the answer to single scenarios.
#pragma once

#include <vector>

#include "model/setting.hpp"

namespace stallcast {

struct Played {
  double step_s = 0.0;  ///< from delivery to delivery
  double wait_s = 0.0;  ///< of it, until the batch was there
};

/// Plays a fixed, seeded sequence of batches, the same one for every setting, so that two settings differ by what is
/// set and not by luck. Batches and steps vary as measured (or by a gamma distribution where that is not known).
class Recursion {
 public:
  explicit Recursion(const JobModel& job);

  /// `making_factor` stretches all that workers do: what the recursion needs to reproduce the measured run.
  [[nodiscard]] Played play(const QuickInput& input, double batch, double making_factor) const;

  /// The factor for which the run as found takes as long as measured; 1 where waiting plays no part in it.
  [[nodiscard]] double fit_making(const QuickInput& as_found) const;

 private:
  double batch_;
  double measured_step_s_;
  std::vector<double> making_{};  ///< relative to their mean, which is 1
  std::vector<double> step_{};
};

}  // namespace stallcast
