/// What in-order delivery and finite prefetching cost: the step of a loader with W workers, prefetch factor k, whose
/// batches and steps vary.
///
/// Example: 8 workers that need 8 s a batch feed a step of 1 s, load 1. With steady times nobody waits and a step takes
/// 1 s; with a coefficient of variation of 0.3 late batches hold back those behind them and a step takes 1.104 s (k =
/// 2) or 1.043 s (k = 4). No closed form is near (models.md section 8), so the curve is simulated once and
/// interpolated.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace stallcast {

struct StallKey {
  int workers = 1;
  int prefetch = 2;
  bool in_order = true;
  double cv_make = 0.0;  ///< coefficient of variation of the time that making a batch takes
  double cv_step = 0.0;  ///< of the step's own time
};

/// ln of the relative step at twelve loads from 1/4 to 8.
using StallPoints = std::array<double, 12>;

/// The curve of one key, between two simulated ones of neighbouring variability.
struct StallCurve {
  StallPoints points{};

  /// Mean time from delivery to delivery over the step's own mean time, where workers need `load` times as long as the
  /// step (load = making / workers / step). At least max(1, load); grows with load, falls with the prefetch factor.
  [[nodiscard]] double relative_step(double load) const;
};

/// Curves made on first use and kept: not to be shared between threads.
class StallCurves {
 public:
  [[nodiscard]] StallCurve find(const StallKey& key);

 private:
  struct Draws {
    std::vector<double> making{};
    std::vector<double> step{};
  };

  const StallPoints& points(const StallKey& key, int making_bucket);
  [[nodiscard]] StallPoints simulate(const StallKey& key, double cv_make, double cv_step);
  const Draws& draws(double cv_make, double cv_step);

  std::unordered_map<std::uint64_t, StallPoints> curves_{};
  std::unordered_map<std::uint64_t, Draws> draws_{};
};

}  // namespace stallcast
