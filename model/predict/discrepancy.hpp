/// What the fitted model still gets wrong where rates were measured, and how much of that to expect elsewhere.
///
/// What was measured is the model's answer plus a discrepancy, and settings that are bound alike share theirs (Kennedy
/// & O'Hagan 2001, J. R. Stat. Soc. B 63(3), section 4.2): a Gaussian process of mean 0 over what binds. Where nothing
/// like a setting was measured, nothing is corrected; a rate that was measured well is met.
///
/// Worked example. Two workers and the step keep both cores busy in cached blocks, which go 4 % slower than the model
/// says, known to 2 % (one standard deviation). Of models in general 3 % are expected: 4 % * 3^2 / (3^2 + 2^2) = 2.8 %
/// are taken off there, and the same with four workers, where the cores bind as well. A job that waits for storage
/// keeps what cold blocks say of it.
#pragma once

#include <array>
#include <vector>

#include "model/analytic/closed_form.hpp"

namespace stallcast {

/// How much of a step's time each stage is needed for: cores, storage, workers, the consumer; and whether there are
/// workers at all. Each to the fourth power, so that what binds (1) stands out.
using Regime = std::array<double, 5>;

/// Of `input`, whose step takes `step_s`.
[[nodiscard]] Regime regime_of(const ServiceDemands& input, double step_s);

class Discrepancy {
 public:
  struct Observed {
    Regime regime{};
    double log_ratio = 0.0;    ///< ln of the measured rate over the model's
    double relative_sd = 0.0;  ///< of the measured rate
  };

  Discrepancy() = default;
  explicit Discrepancy(std::vector<Observed> seen);

  /// ln of the expected true rate over the model's; 0 far from everything that was measured.
  [[nodiscard]] double at(const Regime& regime) const;

 private:
  std::vector<Observed> observed_{};
  std::vector<double> weights_{};  ///< of observed_, each times its covariance with the regime asked for
};

}  // namespace stallcast
