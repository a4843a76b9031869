#include "analyzer/statistics/statistics.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

using namespace stallcast;

namespace {

/// How often the interval of ratio_of_sums holds the true mean of seeded AR(1) series.
double coverage(double correlation, std::size_t length) {
  constexpr int k_series = 1000;
  std::mt19937_64 random(42);
  std::normal_distribution<double> normal(0.0, 1.0);
  const double innovation = std::sqrt(1.0 - correlation * correlation);
  int covered = 0;
  for (int series = 0; series < k_series; ++series) {
    std::vector<double> values(length);
    double state = normal(random);
    for (double& value : values) {
      state = correlation * state + innovation * normal(random);
      value = 10.0 + state;
    }
    const Estimate<double> mean = ratio_of_sums(values, std::vector<double>(length, 1.0));
    if (mean.ci95_low <= 10.0 && 10.0 <= mean.ci95_high) ++covered;
  }
  return static_cast<double>(covered) / k_series;
}

}  // namespace

TEST_CASE("Student's t has the values of the tables") {
  CHECK(student_t(0.95, 1.0) == doctest::Approx(12.7062).epsilon(1e-5));
  CHECK(student_t(0.95, 4.0) == doctest::Approx(2.77645).epsilon(1e-5));
  CHECK(student_t(0.95, 19.0) == doctest::Approx(2.09302).epsilon(1e-5));
  CHECK(student_t(0.95, 1e6) == doctest::Approx(1.95996).epsilon(1e-4));
  CHECK(student_t(0.90, 10.0) == doctest::Approx(1.81246).epsilon(1e-5));
}

TEST_CASE("the mean of independent values has the textbook interval") {
  const std::vector<double> values{4.0, 6.0, 5.0, 5.0};
  const Estimate<double> mean = mean_of(values);
  CHECK(mean.mean == 5.0);
  // s = sqrt(2/3), half = t(3) s / 2 = 3.18245 * 0.81650 / 2
  CHECK(mean.ci95_high - mean.mean == doctest::Approx(1.29923).epsilon(1e-5));
  CHECK(mean.mean - mean.ci95_low == doctest::Approx(1.29923).epsilon(1e-5));
  CHECK(mean.n == 4);
}

TEST_CASE("two values have an interval of use where others of their kind show how far such lie apart") {
  const std::vector<double> two{0.99, 1.01};
  CHECK(mean_of(two).ci95_high == doctest::Approx(1.12706).epsilon(1e-5));
  const Estimate<double> beside = mean_of(two, {0.02 * 0.02, 3.0});
  // s^2 = (3 * 0.0004 + 0.0002) / 4, half = t(4) s / sqrt(2)
  CHECK(beside.ci95_high - beside.mean == doctest::Approx(2.77645 * 0.0187083 / std::sqrt(2.0)).epsilon(1e-5));
  CHECK(beside.n == 2);
  const Estimate<double> equal = mean_of(std::vector<double>{1.0, 1.0}, {0.02 * 0.02, 3.0});
  CHECK(equal.ci95_high > 1.03);  // by luck: they say nothing of how sure they are

  // It covers what it claims, whatever the two happen to say of their own spread.
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal(0.0, 1.0);
  constexpr int k_runs = 4000;
  int covered = 0;
  for (int run = 0; run < k_runs; ++run) {
    double variance = 0.0;
    const std::vector<double> others{normal(random), normal(random), normal(random), normal(random)};
    const double middle = (others[0] + others[1] + others[2] + others[3]) / 4.0;
    for (const double value : others) variance += (value - middle) * (value - middle) / 3.0;
    const Estimate<double> mean = mean_of(std::vector<double>{normal(random), normal(random)}, {variance, 3.0});
    covered += mean.ci95_low <= 0.0 && 0.0 <= mean.ci95_high;
  }
  CHECK(covered / static_cast<double>(k_runs) == doctest::Approx(0.95).epsilon(0.012));
}

TEST_CASE("a ratio of sums weighs by the denominator") {
  const std::vector<double> top{1.0, 30.0, 1.0, 30.0, 1.0, 30.0, 1.0, 30.0};
  const std::vector<double> bottom{1.0, 10.0, 1.0, 10.0, 1.0, 10.0, 1.0, 10.0};
  CHECK(ratio_of_sums(top, bottom).mean == doctest::Approx(31.0 / 11.0));
}

TEST_CASE("values that are all the same have an interval of no width") {
  const std::vector<double> same(100, 2.5);
  const Estimate<double> mean = ratio_of_sums(same, std::vector<double>(100, 1.0));
  CHECK(mean.mean == doctest::Approx(2.5));
  CHECK(mean.ci95_high - mean.ci95_low == doctest::Approx(0.0));
  CHECK(mean.n == 100);
}

TEST_CASE("fewer than 8 observations get the interval of the single values") {
  const std::vector<double> values{4.0, 6.0, 5.0, 5.0};
  const Estimate<double> ratio = ratio_of_sums(values, std::vector<double>(4, 1.0));
  const Estimate<double> mean = mean_of(values);
  CHECK(ratio.mean == doctest::Approx(mean.mean));
  CHECK(ratio.ci95_high == doctest::Approx(mean.ci95_high));
  CHECK(ratio.n == 4);
}

// 1000 series each; the standard error of a coverage of 95 % is then 0.7 points. Batch means of series whose memory is
// not short against a block are known to cover too little; the bounds below say by how much.
TEST_CASE("intervals of autocorrelated series cover what they claim") {
  struct Row {
    double correlation;
    std::size_t length;
    double least;
  };
  for (const Row& row :
       {Row{0.0, 50, 0.93}, Row{0.0, 200, 0.93}, Row{0.0, 1000, 0.93}, Row{0.5, 200, 0.92}, Row{0.5, 1000, 0.93},
        Row{0.8, 200, 0.87}, Row{0.8, 1000, 0.92}, Row{0.9, 1000, 0.90}, Row{0.9, 4000, 0.92}, Row{-0.5, 200, 0.93}}) {
    const double share = coverage(row.correlation, row.length);
    MESSAGE("AR(1) " << row.correlation << ", n = " << row.length << ": " << 100.0 * share << " % covered");
    CHECK(share >= row.least);
    CHECK(share <= 0.995);
  }
}

TEST_CASE("a trend is found with its sign and size, and noise is none") {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal(0.0, 0.1);
  std::vector<double> rising;
  std::vector<double> level;
  for (int i = 0; i < 200; ++i) {
    rising.push_back(9.0 + 2.0 * i / 199.0 + normal(random));
    level.push_back(10.0 + normal(random));
  }
  const Estimate<double> up = relative_trend(rising);
  CHECK(up.mean == doctest::Approx(0.2).epsilon(0.05));
  CHECK(up.ci95_low > 0.0);
  const Estimate<double> none = relative_trend(level);
  CHECK(none.ci95_low < 0.0);
  CHECK(none.ci95_high > 0.0);
  std::reverse(rising.begin(), rising.end());
  CHECK(relative_trend(rising).mean == doctest::Approx(-up.mean));
}

TEST_CASE("a trend of an exact line has no uncertainty, and a series around zero has no share") {
  const std::vector<double> line{1.0, 2.0, 3.0};
  const Estimate<double> trend = relative_trend(line);
  CHECK(trend.mean == doctest::Approx(1.0));
  CHECK(trend.ci95_high - trend.ci95_low == doctest::Approx(0.0));
  const std::vector<double> late{1.0, 2.0, 21.0};
  const Estimate<double> uneven = relative_trend(late, std::vector<double>{0.0, 1.0, 20.0});
  CHECK(uneven.mean == doctest::Approx(20.0 / 8.0));
  CHECK(uneven.ci95_high - uneven.ci95_low == doctest::Approx(0.0));
  const std::vector<double> zeros(5, 0.0);
  CHECK(relative_trend(zeros).mean == 0.0);
}

TEST_CASE("a mean's interval is widened by what neighbours have in common") {
  CHECK(widening(0.0, 2) == 1.0);
  CHECK(widening(0.0, 50) == 1.0);
  CHECK(widening(0.4, 8) == doctest::Approx(1.56).epsilon(0.01));
  // Long series: n_eff = n (1 - rho) / (1 + rho).
  CHECK(widening(0.5, 100'000) == doctest::Approx(std::sqrt(3.0)).epsilon(0.001));
  for (double rho = 0.1; rho < 0.75; rho += 0.1) CHECK(widening(rho, 6) > widening(rho - 0.1, 6));
}

TEST_CASE("short series tell on average how much neighbours resemble each other") {
  for (const double rho : {0.0, 0.4}) {
    std::mt19937_64 random(11);
    std::normal_distribution<double> normal(0.0, 1.0);
    double sum = 0.0;
    constexpr int k_series = 4000;
    for (int series = 0; series < k_series; ++series) {
      std::vector<double> values(8);
      double state = normal(random);
      for (double& value : values) {
        value = state;
        state = rho * state + std::sqrt(1.0 - rho * rho) * normal(random);
      }
      sum += neighbour_correlation(values);
    }
    CHECK(std::abs(sum / k_series - rho) < 0.15);
  }
}
