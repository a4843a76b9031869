/// Means with honest intervals from autocorrelated series.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/measured.hpp"

namespace stallcast {

/// Two-sided quantile of Student's t for `confidence` (0.95) with `degrees` >= 1 degrees of freedom.
[[nodiscard]] double student_t(double confidence, double degrees);

/// The upper one of the two in the middle where their number is even. Not empty.
[[nodiscard]] double median_of(std::vector<double> values);

/// Mean of independent values with Student's t interval at 95 %. values.size() >= 2.
[[nodiscard]] Estimate<double> mean_of(std::span<const double> values);

/// How far single values of a kind lie apart, as other groups of them have shown.
struct Scatter {
  double variance = 0.0;
  double degrees = 0.0;  ///< of freedom; 0: nothing is known
};

/// Likewise, with a variance that other groups have a say in, by their degrees of freedom: (d0 s0^2 + d s^2) / (d0 + d)
/// with d0 + d degrees (the moderated t of Smyth 2004, Stat. Appl. Genet. Mol. Biol. 3(1), with d0 and s0 as given).
///
/// Worked example. Of two values alone, 0.99 and 1.01, the interval is +-0.127: t has one degree, 12.7. Beside four of
/// another group with a standard deviation of 0.02 it is 1 +- 0.037: s = 0.0187, and t has four, 2.78.
[[nodiscard]] Estimate<double> mean_of(std::span<const double> values, const Scatter& others);

/// Correlation of neighbours in a short series, corrected for the bias of the usual estimate: r + (1 + 3 r) / n
/// (Marriott & Pope 1954, Kendall 1954). values.size() >= 3.
[[nodiscard]] double neighbour_correlation(std::span<const double> values);

/// How much wider than mean_of() the interval of a mean of `n` values must be whose neighbours correlate by `rho` (0 to
/// below 1) as in an autoregressive process of first order.
///
/// Worked example. n = 8, rho = 0.4: the mean varies 2.06 times as much as that of independent values, and the spread
/// of the values around their own mean shows only 0.85 of their variance; sqrt(2.06 / 0.85) = 1.56.
[[nodiscard]] double widening(double rho, std::int64_t n);

/// Ratio estimate sum(numerator)/sum(denominator) with an interval from batch means.
///
/// Worked example. 200 steps of a series whose neighbours resemble each other are cut into 20 blocks of 10; each block
/// gives one ratio; their spread says how far the pooled ratio can be trusted, as long as blocks are long enough to be
/// independent. Where neighbouring *blocks* still correlate (lag-1 above 0.3), blocks are merged in pairs, down to 5;
/// what correlation is left then widens the interval. (Batch means: Law & Kelton, Simulation Modeling and Analysis,
/// ch. 9.) Fewer than 8 observations: n tells, and the interval is that of the single values.
[[nodiscard]] Estimate<double> ratio_of_sums(std::span<const double> numerator, std::span<const double> denominator);

/// Linear trend of a series over its whole length, as a share of its mean, with its 95 % interval.
[[nodiscard]] Estimate<double> relative_trend(std::span<const double> values);
/// Likewise of values that were read at these times (any unit, rising), which need not lie equally far apart.
[[nodiscard]] Estimate<double> relative_trend(std::span<const double> values, std::span<const double> times);

}  // namespace stallcast
