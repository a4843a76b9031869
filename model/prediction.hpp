/// What a change would bring: the answer of the model to one scenario.
#pragma once

#include <string>
#include <vector>

#include "core/measured.hpp"
#include "core/quantity.hpp"

namespace stallcast {

/// Mean with the two-sided 90 % prediction interval.
template <class Q>
struct Forecast {
  Q mean{};
  Q ci90_low{};
  Q ci90_high{};
};

/// One "key=value" of a scenario, as the user wrote it.
struct ScenarioItem {
  std::string key{};
  std::string value{};
};

struct Prediction {
  std::vector<ScenarioItem> scenario{};
  Forecast<SamplesPerSecond> throughput{};
  Seconds step{};
  Measured<Seconds> epoch{};  ///< absent where the size of the data set is not known
  Fraction stall = 0.0;       ///< share of the step spent waiting for data
  std::string bound = "gpu";  ///< gpu | prep | fetch | main | cpu | network
  std::string next_bound{};   ///< what binds once `bound` is lifted
  Fraction headroom = 0.0;    ///< how much faster the binding stage may become before next_bound takes over
  bool extrapolated = false;  ///< outside twice the measured range
  std::vector<std::string> notes{};
};

}  // namespace stallcast
