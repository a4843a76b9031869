/// Makes the model reproduce what was measured, and says what that leaves open.
///
/// The parameters (Parameters) have normal priors around what the profile says; the measured rates (JobModel::
/// observations) are fitted on their logarithms by Gauss-Newton. The posterior's covariance is where prediction
/// intervals come from: the rate as found is pinned, a direction that no measurement touched stays as wide as its
/// prior.
///
/// Example: a passive run that waits for storage with 4 workers. That storage lets 4 workers read at the rate found is
/// known within 1 %; whether 8 would read faster is not, so `bandwidth` keeps its prior and a prediction for 8 workers
/// its wide interval. A differential block with 2 workers narrows it.
#pragma once

#include <array>
#include <vector>

#include "model/setting/setting.hpp"

namespace stallcast {

/// One possible truth.
struct Draw {
  Parameters parameters{};
  ModelError error{};
};

/// A measured rate that was predicted from the others.
struct Backtest {
  Observation seen{};
  double predicted_rate = 0.0;
};

struct Calibration {
  Parameters best{};
  std::vector<Draw> draws{};   ///< equally likely truths; seeded, the same each time
  std::array<double, 5> sd{};  ///< of the parameters, in the order of Parameters
  double misfit = 0.0;         ///< of the fitted rates: root mean square of ln(model / measured)
  std::vector<Backtest> backtests{};
  double error_scale = 1.0;  ///< by which the backtests widen (never narrow below 0.7) the model's own errors
};

/// Step time of one batch at `setting` in one truth.
[[nodiscard]] StepTimes evaluate(const JobModel& job, const Setting& setting, const Draw& truth, StallCurves& curves);

[[nodiscard]] Calibration calibrate(const JobModel& job, StallCurves& curves);

}  // namespace stallcast
