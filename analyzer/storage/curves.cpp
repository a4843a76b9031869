/// The curves of storage/fit.hpp: a line over sizes, a law over reads in flight, the ceiling of a series.
#include <fmt/core.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "analyzer/statistics/statistics.hpp"
#include "analyzer/storage/constants.hpp"
#include "analyzer/storage/fit.hpp"

namespace stallcast {
namespace {

double error_of(const SizeClass& c) {
  return std::max(c.error_s, k_least_class_error * c.seconds);
}

/// The line through the origin.
SizeLine fit_through_origin(std::span<const SizeClass> classes) {
  SizeLine line;
  double top = 0.0;
  double bottom = 0.0;
  for (const SizeClass& c : classes) {
    const double weight = 1.0 / (error_of(c) * error_of(c));
    top += weight * c.bytes * c.seconds;
    bottom += weight * c.bytes * c.bytes;
    line.n += c.n;
  }
  line.s_per_byte = top / bottom;
  double chi2 = 0.0;
  for (const SizeClass& c : classes) chi2 += std::pow((c.seconds - line.s_per_byte * c.bytes) / error_of(c), 2);
  line.degrees = std::max(1.0, static_cast<double>(classes.size()) - 1.0);
  line.s_per_byte_error = std::sqrt(std::max(1.0, chi2 / line.degrees) / bottom);
  return line;
}

/// Least squares with columns left out until no coefficient is below zero; the first column always stays.
Eigen::VectorXd fit_not_negative(const Eigen::MatrixXd& design, const Eigen::VectorXd& values) {
  std::vector<Eigen::Index> columns;
  for (Eigen::Index i = 0; i < design.cols(); ++i) columns.push_back(i);
  Eigen::VectorXd result = Eigen::VectorXd::Zero(design.cols());
  while (true) {
    Eigen::MatrixXd chosen(design.rows(), static_cast<Eigen::Index>(columns.size()));
    for (std::size_t i = 0; i < columns.size(); ++i) chosen.col(static_cast<Eigen::Index>(i)) = design.col(columns[i]);
    const Eigen::VectorXd fitted = chosen.colPivHouseholderQr().solve(values);
    std::size_t worst = 0;
    for (std::size_t i = 1; i < columns.size(); ++i) {
      const bool negative = fitted(static_cast<Eigen::Index>(i)) < 0.0;
      if (negative && (worst == 0 || fitted(static_cast<Eigen::Index>(i)) < fitted(static_cast<Eigen::Index>(worst)))) {
        worst = i;
      }
    }
    if (worst == 0) {
      for (std::size_t i = 0; i < columns.size(); ++i) result(columns[i]) = fitted(static_cast<Eigen::Index>(i));
      return result;
    }
    columns.erase(columns.begin() + static_cast<std::ptrdiff_t>(worst));
  }
}

/// Whether a rate with more in flight than the best has may well be the best one's, and the best one its.
bool may_be_as_fast(const FlightRate& rate, const FlightRate& best) {
  return rate.in_flight > best.in_flight && rate.rate.ci95_high >= best.rate.mean &&
         best.rate.ci95_low <= rate.rate.mean;
}

/// The plateau's rates as one: a mean weighted by the squares of the intervals, no narrower than its best member's.
///
/// Worked example. 6.0 MB/s (3.9 to 8.0) with two in flight, 5.0 (3.2 to 6.8) with four and 5.0 (1.4 to 8.6) with
/// eight, three to four windows each, of a storage that gives 5: the best of them is the luckiest, all of them
/// give 5.4.
Estimate<double> pooled(std::span<const FlightRate> rates, const FlightRate& best) {
  double weights = 0.0;
  double sum = 0.0;
  double narrowest = -1.0;
  double low = 0.0;
  double high = 0.0;
  std::int64_t n = 0;
  for (const FlightRate& rate : rates) {
    if (rate.rate.mean < k_same_plateau * best.rate.mean && !may_be_as_fast(rate, best)) continue;
    const double half = std::max((rate.rate.ci95_high - rate.rate.ci95_low) / 2.0, k_least_rate_error * rate.rate.mean);
    weights += 1.0 / (half * half);
    sum += rate.rate.mean / (half * half);
    low = n == 0 ? rate.rate.mean : std::min(low, rate.rate.mean);
    high = n == 0 ? rate.rate.mean : std::max(high, rate.rate.mean);
    narrowest = narrowest < 0.0 ? half : std::min(narrowest, half);
    n += rate.rate.n;
  }
  const double mean = sum / weights;
  return {mean, std::min(low, mean - narrowest), std::max(high, mean + narrowest), n};
}

/// Whether more in flight had stopped to bring more: fewer came to about as much already, and what is known of the more
/// rules out that they bring half as much again.
bool has_plateau(std::span<const FlightRate> rates, std::size_t best) {
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const double fewer = k_flat_in_flight * rates[i].rate.mean;
    if (fewer < rates[best].rate.mean) continue;
    const auto more = rates.subspan(i + 1);
    const auto flat = [&](const FlightRate& rate) {
      return rate.rate.mean < fewer && rate.rate.ci95_high < k_rise_ruled_out * rates[i].rate.mean;
    };
    if (std::any_of(more.begin(), more.end(), flat)) return true;
  }
  return false;
}

}  // namespace

std::optional<SizeLine> fit_size_line(std::span<const SizeClass> classes) {
  if (classes.size() < 2) return std::nullopt;
  const auto [least, most] = std::minmax_element(
      classes.begin(), classes.end(), [](const SizeClass& a, const SizeClass& b) { return a.bytes < b.bytes; });
  if (!(most->bytes > k_sizes_apart * least->bytes)) return std::nullopt;
  const auto rows = static_cast<Eigen::Index>(classes.size());
  Eigen::MatrixXd design(rows, 2);
  Eigen::VectorXd values(rows);
  SizeLine line;
  for (Eigen::Index i = 0; i < rows; ++i) {
    const SizeClass& c = classes[static_cast<std::size_t>(i)];
    design(i, 0) = 1.0 / error_of(c);
    design(i, 1) = c.bytes / most->bytes / error_of(c);  // scaled, so that the columns are of a size
    values(i) = c.seconds / error_of(c);
    line.n += c.n;
  }
  const Eigen::Vector2d fitted = design.colPivHouseholderQr().solve(values);
  if (fitted(0) < 0.0) return fit_through_origin(classes);
  const double chi2 = (values - design * fitted).squaredNorm();
  const double degrees = static_cast<double>(rows) - 2.0;
  const Eigen::Matrix2d covariance = (design.transpose() * design).inverse();
  const double widen = degrees >= 1.0 ? std::max(1.0, chi2 / degrees) : 1.0;
  line.latency_s = fitted(0);
  line.latency_error_s = std::sqrt(widen * covariance(0, 0));
  line.s_per_byte = fitted(1) / most->bytes;
  line.s_per_byte_error = std::sqrt(widen * covariance(1, 1)) / most->bytes;
  line.degrees = degrees >= 1.0 ? degrees : static_cast<double>(std::max<std::int64_t>(1, line.n - 2));
  return line;
}

double UslFit::rate(double in_flight) const {
  const double others = in_flight - 1.0;
  return per_stream * in_flight / (1.0 + contention * others + coherence * in_flight * others);
}

std::optional<UslFit> fit_usl(std::span<const FlightRate> rates) {
  if (rates.size() < 3) return std::nullopt;
  const auto rows = static_cast<Eigen::Index>(rates.size());
  Eigen::MatrixXd design(rows, 3);
  for (Eigen::Index i = 0; i < rows; ++i) {
    const FlightRate& point = rates[static_cast<std::size_t>(i)];
    const double n = point.in_flight;
    if (!(point.rate.mean > 0.0)) return std::nullopt;
    const double weight = point.rate.mean / n;  // 1 / (n / rate): relative errors count
    design.row(i) << weight, weight * (n - 1.0), weight * n * (n - 1.0);
  }
  const Eigen::VectorXd fitted = fit_not_negative(design, Eigen::VectorXd::Ones(rows));
  if (!(fitted(0) > 0.0)) return std::nullopt;
  UslFit usl{1.0 / fitted(0), fitted(1) / fitted(0), fitted(2) / fitted(0), 0.0};
  double squares = 0.0;
  for (const FlightRate& point : rates) squares += std::pow(usl.rate(point.in_flight) / point.rate.mean - 1.0, 2);
  usl.residual_frac = std::sqrt(squares / static_cast<double>(rates.size()));
  return usl;
}

Measured<Estimate<double>> ceiling_of(std::span<const FlightRate> rates) {
  using Ceiling = Measured<Estimate<double>>;
  if (rates.size() < 2) return Ceiling::absent("fewer than two numbers of reads in flight have a rate");
  std::size_t best = 0;
  for (std::size_t i = 1; i < rates.size(); ++i) {
    if (rates[i].rate.ci95_low > rates[best].rate.ci95_low) best = i;  // not the luckiest of noisy points
  }
  const Estimate<double>& most = rates[best].rate;
  if (has_plateau(rates, best)) return pooled(rates, rates[best]);
  const auto usl = fit_usl(rates);
  const double asymptote =
      usl && usl->contention > 0.0 && usl->coherence == 0.0 ? usl->per_stream / usl->contention : 0.0;
  if (rates.size() >= k_fewest_points_to_extrapolate && asymptote > most.mean &&
      asymptote < k_most_extrapolated * most.mean && usl->residual_frac < k_most_law_residual) {
    // Between what was seen and as far beyond the asymptote as that lies beyond what was seen.
    return Estimate<double>{asymptote, most.ci95_low, 2.0 * asymptote - most.ci95_low, most.n};
  }
  return Ceiling::absent(fmt::format("not reached: with {:.0f} in flight the rate still rises ({:.4g}/s)",
                                     rates[best].in_flight, most.mean));
}

}  // namespace stallcast
