#include "analyzer/statistics/distribution.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

namespace stallcast {
namespace {

using doctest::Approx;

TEST_CASE("an empty distribution says nothing") {
  const Distribution empty;
  CHECK(empty.n == 0);
  CHECK(empty.quantile(0.5) == 0.0);
  CHECK(empty.cv() == 0.0);
}

TEST_CASE("one value is its own every quantile") {
  Distribution one;
  one.add(0.125);
  CHECK(one.n == 1);
  CHECK(one.mean == 0.125);
  CHECK(one.variance == 0.0);
  for (const double q : {0.0, 0.5, 1.0}) CHECK(one.quantile(q) == 0.125);
}

TEST_CASE("mean and variance are those of the values") {
  Distribution some;
  for (const double value : {2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0}) some.add(value);
  CHECK(some.mean == Approx(5.0));
  CHECK(some.variance == Approx(32.0 / 7.0));
  CHECK(some.cv() == Approx(std::sqrt(32.0 / 7.0) / 5.0));
  CHECK(some.min == 2.0);
  CHECK(some.max == 9.0);
}

TEST_CASE("zeros are counted apart and come first") {
  Distribution some;
  for (int i = 0; i < 60; ++i) some.add(0.0);
  for (int i = 0; i < 40; ++i) some.add(1.0);
  CHECK(some.zeros == 60);
  CHECK(some.quantile(0.5) == 0.0);
  CHECK(some.quantile(0.9) == Approx(1.0).epsilon(0.045));
  CHECK(std::accumulate(some.counts.begin(), some.counts.end(), std::int64_t{0}) + some.zeros == some.n);
}

TEST_CASE("a quantile is read off within 4.5 % for any order and shape of values") {
  std::mt19937_64 random(7);
  for (const double sigma : {0.1, 1.0, 2.5}) {
    std::lognormal_distribution<double> draw(-6.0, sigma);
    std::vector<double> values(4000);
    for (double& value : values) value = draw(random);
    Distribution distribution;
    for (const double value : values) distribution.add(value);
    std::sort(values.begin(), values.end());
    for (const double q : {0.01, 0.1, 0.5, 0.9, 0.99}) {
      CAPTURE(sigma);
      CAPTURE(q);
      const double exact = values[static_cast<std::size_t>(q * 4000.0)];
      CHECK(distribution.quantile(q) == Approx(exact).epsilon(0.09 / 2 + 0.01));
    }
    CHECK(distribution.quantile(0.0) >= values.front());
    CHECK(distribution.quantile(1.0) <= values.back());
  }
}

TEST_CASE("quantiles never fall as q grows") {
  std::mt19937_64 random(11);
  std::exponential_distribution<double> draw(100.0);
  Distribution distribution;
  for (int i = 0; i < 500; ++i) distribution.add(i % 7 == 0 ? 0.0 : draw(random));
  double previous = distribution.quantile(0.0);
  for (int step = 1; step <= 100; ++step) {
    const double next = distribution.quantile(step / 100.0);
    CHECK(next >= previous);
    previous = next;
  }
}

TEST_CASE("scaling all values by 8 moves the bins and nothing else") {
  std::mt19937_64 random(13);
  std::lognormal_distribution<double> draw(0.0, 1.0);
  Distribution small;
  Distribution large;
  for (int i = 0; i < 1000; ++i) {
    const double value = draw(random);
    small.add(value);
    large.add(8.0 * value);
  }
  CHECK(large.first_bin == small.first_bin + 3 * Distribution::k_bins_per_octave);
  CHECK(large.counts == small.counts);
  CHECK(large.mean == Approx(8.0 * small.mean));
  CHECK(large.cv() == Approx(small.cv()));
}

}  // namespace
}  // namespace stallcast
