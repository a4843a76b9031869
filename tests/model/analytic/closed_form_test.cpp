#include "model/analytic/closed_form.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "model/predict/bottleneck.hpp"
#include "simulation/loader.hpp"

namespace stallcast {
namespace {

double log_uniform(std::mt19937_64& random, double low, double high) {
  const double u = static_cast<double>(random() >> 11) / 9007199254740992.0;
  return low * std::pow(high / low, u);
}

ServiceDemands random_input(std::mt19937_64& random) {
  ServiceDemands in;
  in.workers = 1 + static_cast<int>(random() % 8);
  in.prefetch = 2 + static_cast<int>(random() % 3);
  in.cores = static_cast<double>(1 + random() % 8);
  in.device_s = random() % 3 != 0 ? log_uniform(random, 0.02, 1.0) : 0.0;
  in.step_cpu_s = random() % 2 == 0 ? log_uniform(random, 0.02, 1.0) : 0.01;
  in.cpu_s = log_uniform(random, 0.05, 2.0) * in.workers;
  in.other_s = random() % 2 == 0 ? log_uniform(random, 0.01, 1.0) : 0.0;
  in.disk_s = random() % 3 != 0 ? log_uniform(random, 0.05, 2.0) : 0.0;
  in.cv_make = log_uniform(random, 0.05, 0.6);
  return in;
}

double simulated_step(const ServiceDemands& in, std::uint64_t seed) {
  constexpr std::size_t k_batches = 2500;
  std::mt19937_64 random(seed);
  std::gamma_distribution<double> gamma(1.0 / (in.cv_make * in.cv_make), in.cv_make * in.cv_make);
  std::vector<simulation::BatchWork> work(k_batches);
  const std::vector<simulation::StepWork> steps(k_batches, {in.device_s + in.receive_s, in.step_cpu_s});
  for (auto& batch : work) {
    const double factor = gamma(random);
    batch = {in.disk_s * factor, in.cpu_s * factor, (in.other_s + in.latency_s) * factor};
  }
  const auto run =
      run_loader_shared({in.workers, in.prefetch, in.in_order}, {in.cores, in.disk_s > 0.0, 1.0, 1.0, 8}, work, steps);
  constexpr std::size_t k_first = 200;
  return (run.delivered_s.back() - run.delivered_s[k_first]) / static_cast<double>(k_batches - 1 - k_first);
}

TEST_CASE("the analytic form agrees with the event simulation over random machines") {
  std::mt19937_64 random(5);
  StallCurves curves;
  std::vector<double> errors;
  for (int trial = 0; trial < 150; ++trial) {
    const ServiceDemands in = random_input(random);
    errors.push_back(std::abs(evaluate(in, curves).step_s / simulated_step(in, random()) - 1.0));
  }
  std::sort(errors.begin(), errors.end());
  CHECK(errors[75] < 0.01);
  CHECK(errors[135] < 0.04);
  CHECK(errors.back() < 0.13);
}

TEST_CASE("where nothing is shared and nothing varies, the slower side sets the pace") {
  StallCurves curves;
  ServiceDemands in;
  in.workers = 4;
  in.cores = 64.0;
  in.device_s = 1.0;
  in.cpu_s = 2.0;
  CHECK(evaluate(in, curves).step_s == doctest::Approx(1.0).epsilon(1e-6));
  in.cpu_s = 6.0;
  CHECK(evaluate(in, curves).step_s == doctest::Approx(1.5).epsilon(1e-6));
  in.device_s = 0.0;
  CHECK(evaluate(in, curves).step_s == doctest::Approx(1.5).epsilon(1e-6));
  in.workers = 0;
  in.device_s = 1.0;
  CHECK(evaluate(in, curves).step_s == doctest::Approx(7.0).epsilon(1e-6));
}

TEST_CASE("fetch and prep add inside a worker: not the minimum of separate rates") {
  StallCurves curves;
  ServiceDemands in;
  in.workers = 8;
  in.cores = 64.0;
  in.device_s = 0.1;
  in.cpu_s = 5.04;
  in.latency_s = 1.14;
  CHECK(evaluate(in, curves).step_s == doctest::Approx((5.04 + 1.14) / 8.0).epsilon(1e-6));
}

TEST_CASE("crowding") {
  CHECK(mean_crowding(0, 0.5, 0.0, 1.0) == 1.0);
  CHECK(mean_crowding(3, 1.0, 0.0, 1.0) == doctest::Approx(4.0).epsilon(0.001));
  CHECK(mean_crowding(3, 1.0, 0.0, 8.0) == 1.0);
  CHECK(mean_crowding(1, 0.5, 0.0, 1.0) == doctest::Approx(1.0 / 0.75));
  CHECK(mean_crowding(200, 0.999, 0.0, 10.0) == doctest::Approx(20.08).epsilon(0.001));
}

TEST_CASE("stall curves keep their bounds and their order") {
  StallCurves curves;
  for (const double cv : {0.0, 0.07, 0.3, 1.0}) {
    const auto two = curves.find({4, 2, true, cv, 0.0});
    const auto four = curves.find({4, 4, true, cv, 0.0});
    double before = 0.0;
    for (double load = 0.1; load < 20.0; load *= 1.1) {
      const double step = two.relative_step(load);
      CHECK(step >= std::max(1.0, load) * (1.0 - 1e-9));
      CHECK(step >= before);
      CHECK(four.relative_step(load) <= step * (1.0 + 1e-9));
      before = step;
    }
  }
  CHECK(curves.find({8, 2, true, 0.3, 0.0}).relative_step(1.0) == doctest::Approx(1.105).epsilon(0.01));
  CHECK(curves.find({8, 4, true, 0.3, 0.0}).relative_step(1.0) == doctest::Approx(1.043).epsilon(0.01));
}

TEST_CASE("the analytic form is monotonous and never beats its slowest stage") {
  std::mt19937_64 random(6);
  StallCurves curves;
  for (int trial = 0; trial < 200; ++trial) {
    const ServiceDemands in = random_input(random);
    const double step = evaluate(in, curves).step_s;
    CAPTURE(trial);
    CHECK(step >= slowest_stage_s(in) * (1.0 - 1e-6));
    // the fixed point is found to within a part in 10^6 of where both sides are shared
    constexpr double k_slack = 1.0005;
    ServiceDemands more = in;
    more.cores *= 2.0;
    CHECK(evaluate(more, curves).step_s <= step * k_slack);
    more = in;
    more.prefetch += 2;
    CHECK(evaluate(more, curves).step_s <= step * k_slack);
    more = in;
    more.disk_s *= 0.5;
    CHECK(evaluate(more, curves).step_s <= step * k_slack);
    more = in;
    more.device_s *= 0.5;
    CHECK(evaluate(more, curves).step_s <= step * k_slack);
    more = in;
    for (double* time : {&more.device_s, &more.step_cpu_s, &more.cpu_s, &more.other_s, &more.disk_s}) *time *= 3.0;
    CHECK(evaluate(more, curves).step_s == doctest::Approx(3.0 * step).epsilon(1e-6));
  }
}

TEST_CASE("which stage binds, which is next, and how far away it is") {
  ServiceDemands in;
  in.workers = 4;
  in.cores = 8.0;
  in.device_s = 1.0;
  in.cpu_s = 2.0;
  Bounds bounds = bounds_of(in);
  CHECK(bounds.bound == "gpu");
  CHECK(bounds.next_bound == "prep");
  CHECK(bounds.headroom == doctest::Approx(1.0));
  in.latency_s = 10.0;
  CHECK(bounds_of(in).bound == "fetch");
  in.latency_s = 0.0;
  in.disk_s = 1.5;
  CHECK(bounds_of(in).bound == "fetch");
  in.disk_s = 0.0;
  in.cores = 1.0;
  CHECK(bounds_of(in).bound == "cpu");
  in.workers = 0;
  CHECK(bounds_of(in).bound == "prep");
}

}  // namespace
}  // namespace stallcast
