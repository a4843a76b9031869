/// A compact histogram with logarithmic bins: what a mean hides.
#pragma once

#include <cstdint>
#include <vector>

namespace stallcast {

/// Counts per bin of relative width 2^(1/8) (8 bins an octave): a quantile is read off within 4.5 %.
/// Values are in base units (seconds or bytes); zero and negative values go to `zeros`.
struct Distribution {
  static constexpr int k_bins_per_octave = 8;

  std::int64_t n = 0;
  std::int64_t zeros = 0;
  double mean = 0.0;
  double variance = 0.0;  ///< of a single value, n - 1 in the denominator
  double min = 0.0;
  double max = 0.0;
  int first_bin = 0;                   ///< bin b holds [2^(b/8), 2^((b+1)/8))
  std::vector<std::int64_t> counts{};  ///< of bins first_bin, first_bin + 1, ...

  void add(double value);

  /// Value below which the fraction `q` in [0, 1] lies: log-linear within a bin, clamped to [min, max]. 0 if empty.
  [[nodiscard]] double quantile(double q) const;

  /// Coefficient of variation sqrt(variance)/mean; 0 when the mean is 0.
  [[nodiscard]] double cv() const;
};

}  // namespace stallcast
