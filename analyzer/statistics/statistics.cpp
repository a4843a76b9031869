#include "analyzer/statistics/statistics.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>

#include "analyzer/statistics/constants.hpp"
#include "core/check.hpp"

namespace stallcast {
namespace {

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double lag_one(std::span<const double> values) {
  const double center = mean(values);
  double cross = 0.0;
  double square = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double deviation = values[i] - center;
    square += deviation * deviation;
    if (i > 0) cross += deviation * (values[i - 1] - center);
  }
  return square > 0.0 ? cross / square : 0.0;
}

std::vector<double> block_ratios(std::span<const double> numerator, std::span<const double> denominator,
                                 std::size_t blocks) {
  std::vector<double> ratios;
  const std::size_t n = numerator.size();
  for (std::size_t block = 0; block < blocks; ++block) {
    const std::size_t begin = block * n / blocks;
    const std::size_t end = (block + 1) * n / blocks;
    double top = 0.0;
    double bottom = 0.0;
    for (std::size_t i = begin; i < end; ++i) {
      top += numerator[i];
      bottom += denominator[i];
    }
    if (bottom > 0.0) ratios.push_back(top / bottom);
  }
  return ratios;
}

}  // namespace

double student_t(double confidence, double degrees) {
  STALLCAST_CHECK(degrees >= 1.0);
  const boost::math::students_t distribution(degrees);
  return boost::math::quantile(distribution, 0.5 + confidence / 2.0);
}

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Estimate<double> mean_of(std::span<const double> values) {
  return mean_of(values, Scatter{});
}

Estimate<double> mean_of(std::span<const double> values, const Scatter& others) {
  STALLCAST_CHECK(values.size() >= 2 && others.degrees >= 0.0);
  const double center = mean(values);
  double square = others.degrees * others.variance;
  for (const double value : values) square += (value - center) * (value - center);
  const double count = static_cast<double>(values.size());
  const double degrees = others.degrees + count - 1.0;
  const double half = student_t(0.95, degrees) * std::sqrt(square / degrees / count);
  return {center, center - half, center + half, static_cast<std::int64_t>(values.size())};
}

double neighbour_correlation(std::span<const double> values) {
  STALLCAST_CHECK(values.size() >= 3);
  const double raw = lag_one(values);
  return raw + (1.0 + 3.0 * raw) / static_cast<double>(values.size());
}

double widening(double rho, std::int64_t n) {
  STALLCAST_CHECK(rho >= 0.0 && rho < 1.0 && n >= 2);
  const double count = static_cast<double>(n);
  double of_mean = 1.0;  // variance of the mean, in those of independent values
  for (std::int64_t lag = 1; lag < n; ++lag) {
    of_mean += 2.0 * (1.0 - static_cast<double>(lag) / count) * std::pow(rho, static_cast<double>(lag));
  }
  const double seen = (count - of_mean) / (count - 1.0);  // of the variance, around the values' own mean
  return std::sqrt(of_mean / seen);
}

Estimate<double> ratio_of_sums(std::span<const double> numerator, std::span<const double> denominator) {
  STALLCAST_CHECK(numerator.size() == denominator.size() && numerator.size() >= 2);
  const double bottom = std::accumulate(denominator.begin(), denominator.end(), 0.0);
  const double pooled = std::accumulate(numerator.begin(), numerator.end(), 0.0) / bottom;
  const std::size_t n = numerator.size();
  std::size_t blocks = n < k_fewest_values_for_blocks ? n : std::clamp(n / 4, k_fewest_mean_blocks, k_most_mean_blocks);
  std::vector<double> ratios = block_ratios(numerator, denominator, blocks);
  while (blocks / 2 >= k_fewest_mean_blocks && lag_one(ratios) > k_correlated_blocks) {
    blocks /= 2;
    ratios = block_ratios(numerator, denominator, blocks);
  }
  if (ratios.size() < 2) return {pooled, pooled, pooled, static_cast<std::int64_t>(n)};
  const Estimate<double> spread = mean_of(ratios);
  // What the blocks still share with their neighbours: too few of them to be merged further.
  const double shared = ratios.size() < k_fewest_mean_blocks
                            ? 0.0
                            : std::clamp(neighbour_correlation(ratios), 0.0, k_most_shared_by_blocks);
  const double half =
      (spread.ci95_high - spread.ci95_low) / 2.0 * widening(shared, static_cast<std::int64_t>(ratios.size()));
  return {pooled, pooled - half, pooled + half, static_cast<std::int64_t>(n)};
}

Estimate<double> relative_trend(std::span<const double> values) {
  std::vector<double> numbers(values.size());
  std::iota(numbers.begin(), numbers.end(), 0.0);
  return relative_trend(values, numbers);
}

Estimate<double> relative_trend(std::span<const double> values, std::span<const double> times) {
  STALLCAST_CHECK(values.size() >= 3 && times.size() == values.size() && times.back() > times.front());
  const double n = static_cast<double>(values.size());
  const double center = mean(values);
  const double middle = mean(times);
  double cross = 0.0;
  double square = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double x = times[i] - middle;
    cross += x * (values[i] - center);
    square += x * x;
  }
  const double slope = cross / square;
  double residual = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double fit = center + slope * (times[i] - middle);
    residual += (values[i] - fit) * (values[i] - fit);
  }
  const double error = std::sqrt(residual / (n - 2.0) / square) * student_t(0.95, n - 2.0);
  const double scale = center != 0.0 ? (times.back() - times.front()) / center : 0.0;
  return {slope * scale, (slope - error) * scale, (slope + error) * scale, static_cast<std::int64_t>(values.size())};
}

}  // namespace stallcast
