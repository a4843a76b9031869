#include "model/predict/discrepancy.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/model/asking.hpp"
#include "tests/model/made_profile.hpp"

using namespace stallcast;
using made::profile_of;
using made::TrueJob;

TEST_CASE("where nothing was measured nothing is corrected") {
  CHECK(Discrepancy().at({1.0, 0.0, 0.0, 1.0, 1.0}) == 0.0);
  CHECK(Discrepancy(std::vector<Discrepancy::Observed>{}).at({1.0, 0.0, 0.0, 1.0, 1.0}) == 0.0);
}

TEST_CASE("what is bound alike is off alike, as far as the measurement is surer than the model") {
  const Regime cores{1.0, 0.0, 0.3, 1.0, 1.0};
  const Discrepancy one({{cores, -0.04, 0.02}});
  CHECK(one.at(cores) == doctest::Approx(-0.04 * 9.0 / 13.0));
  CHECK(one.at({1.0, 0.0, 0.0, 1.0, 1.0}) == doctest::Approx(one.at(cores)).epsilon(0.2));
  CHECK(std::abs(one.at({0.0, 1.0, 1.0, 0.0, 1.0})) < 0.001);  // one that waits for storage
  const Discrepancy sure({{cores, -0.04, 0.001}});
  CHECK(sure.at(cores) == doctest::Approx(-0.04).epsilon(0.01));
  const Discrepancy twice({{cores, -0.04, 0.02}, {cores, -0.04, 0.02}});
  CHECK(twice.at(cores) == doctest::Approx(-0.04 * 9.0 / 11.0));
}

TEST_CASE("a regime says what a step's time is made of") {
  ServiceDemands in;
  in.workers = 2;
  in.cores = 2.0;
  in.cpu_s = 0.10;
  in.step_cpu_s = 0.06;
  const Regime busy = regime_of(in, 0.08);
  CHECK(busy[0] == doctest::Approx(1.0));
  CHECK(busy[1] == 0.0);
  CHECK(busy[2] == doctest::Approx(std::pow(0.05 / 0.08, 4.0)));
  CHECK(busy[3] == doctest::Approx(std::pow(0.75, 4.0)));
  CHECK(busy[4] == 1.0);
  in.workers = 0;
  CHECK(regime_of(in, 0.16)[4] == 0.0);
}

TEST_CASE("a setting that was measured is predicted as measured, whatever the rest of the blocks say") {
  TrueJob truth;
  truth.cores = 2.0;
  truth.workers = 2;
  truth.device_s = 0.0005;
  truth.step_cpu_s = 0.045;
  truth.cpu_s = 0.0024;
  truth.other_s = 0.0;
  truth.disk_s = 0.005;
  truth.miss = 1.0;
  Profile profile = profile_of(truth);
  made::add_differential(profile, truth, "cold", {{"workers", "2"}});
  made::add_differential(profile, truth, "synthetic", {{"workers", "2"}});
  TrueJob fewer = truth;
  fewer.workers = 1;
  made::add_differential(profile, fewer, "cached", {{"workers", "1"}});
  made::add_differential(profile, truth, "cached", {{"workers", "2"}});
  // Three threads do not get all of two cores: what no parameter says, and blocks of one worker do not show.
  Estimate<SamplesPerSecond>& cached = profile.points.back().estimate.value();
  const double as_modelled = cached.mean.value();
  const double measured = 0.95 * as_modelled;
  cached = {SamplesPerSecond(measured), SamplesPerSecond(0.99 * measured), SamplesPerSecond(1.01 * measured), 5};
  const auto rate = [&](const std::vector<std::string>& words) {
    return made::answer(profile, words).throughput.mean.value();
  };
  CHECK(rate({"cache=100%"}) == doctest::Approx(measured).epsilon(0.015));
  CHECK(rate({"cache=100%", "workers=4"}) < 0.985 * as_modelled);  // bound by the same cores
  fewer.miss = 0.0;
  CHECK(rate({"cache=100%", "workers=1"}) == doctest::Approx(made::play(fewer).rate).epsilon(0.025));
}

TEST_CASE("a window that says otherwise than all blocks is not stretched over what blocks have shown") {
  TrueJob truth;
  truth.cores = 4.0;
  truth.workers = 2;
  truth.device_s = 0.1;
  truth.cpu_s = 0.004;
  truth.disk_s = 0.004;
  truth.miss = 0.9;  // as found, which no block was
  Profile profile = profile_of(truth);
  made::add_differential(profile, truth, "cold", {{"workers", "2"}});
  made::add_differential(profile, truth, "cached", {{"workers", "2"}});
  made::add_differential(profile, truth, "synthetic", {{"workers", "2"}});
  TrueJob fewer = truth;
  fewer.workers = 1;
  made::add_differential(profile, fewer, "cached", {{"workers", "1"}});
  const auto without = [&] { return made::answer(profile, {"cache=100%", "workers=0"}).throughput.mean.value(); };
  const double before = without();
  Estimate<SamplesPerSecond>& as_is = profile.rates.as_is.value();  // a short window, in which the storage was slower
  const double slow = 0.92 * as_is.mean.value();
  as_is = {SamplesPerSecond(slow), SamplesPerSecond(0.97 * slow), SamplesPerSecond(1.03 * slow), 30};
  CHECK(without() == doctest::Approx(before).epsilon(0.02));
}
