#include "model/predict/recursion.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "simulation/loader.hpp"
#include "tests/model/made_profile.hpp"

namespace stallcast {
namespace {

/// Two workers and a consumer that computes, on one core.
JobModel crowded() {
  made::TrueJob truth;
  truth.cores = 1.0;
  truth.step_cpu_s = 0.03;
  truth.device_s = 0.05;
  truth.cpu_s = 0.003;
  auto job = job_model(made::profile_of(truth));
  REQUIRE(job.ok());
  return job.value();
}

TEST_CASE("workers that a limit holds back wait, and leave the cores to the step") {
  const JobModel job = crowded();
  const Recursion recursion(job);
  ServiceDemands input = demands(job, as_found(job), {}, {});
  const Played free = recursion.play(input, job.batch);
  const double alone_s = input.device_s + input.step_cpu_s;
  REQUIRE(free.own_s > 1.05 * alone_s);  // they stand in its way
  double own_s = free.own_s;
  for (const double times : {1.5, 3.0, 6.0}) {
    CAPTURE(times);
    input.limit_s = times * free.step_s;
    const Played limited = recursion.play(input, job.batch);
    CHECK(limited.step_s == doctest::Approx(input.limit_s).epsilon(0.006));
    CHECK(limited.own_s < own_s);
    CHECK(limited.own_s + limited.wait_s >= limited.step_s - 1e-9);
    own_s = limited.own_s;
  }
  input.limit_s = 0.5 * free.step_s;  // nobody meets that
  CHECK(recursion.play(input, job.batch).step_s == free.step_s);
}

TEST_CASE("what the run as found told of its storage's limit says nothing of a limit that is given") {
  const JobModel job = crowded();
  Recursion recursion(job);
  ServiceDemands input = demands(job, as_found(job), {}, {});
  input.limit_s = 0.97 * job.batch / job.rate;  // a probe that found it a little too fast
  recursion.fit(input);
  CHECK(recursion.play(input, job.batch).step_s == doctest::Approx(job.batch / job.rate).epsilon(0.006));
  input.limit_s *= 3.0;
  CHECK(recursion.play(input, job.batch).step_s == doctest::Approx(input.limit_s / 0.97).epsilon(0.006));
  input.limit_given = true;
  CHECK(recursion.play(input, job.batch).step_s == doctest::Approx(input.limit_s).epsilon(0.006));
}

TEST_CASE("where a ceiling alone makes the steps so long, it is what is off, and the consumer takes no longer") {
  JobModel job = crowded();
  ServiceDemands input = demands(job, as_found(job), {}, {});
  const double free_s = Recursion(job).play(input, job.batch).step_s;
  job.rate *= 0.5;
  const double measured_s = job.batch / job.rate;
  for (const double off : {0.92, 1.08}) {
    CAPTURE(off);
    Recursion recursion(job);
    input.limit_s = off * measured_s;
    recursion.fit(input);
    CHECK(recursion.play(input, job.batch).step_s == doctest::Approx(measured_s).epsilon(0.006));
    input.limit_s = 0.0;
    CHECK(recursion.play(input, job.batch).step_s == doctest::Approx(free_s).epsilon(0.01));
  }
}

TEST_CASE("making that alone would take longer than the steps as found is too slow, although a ceiling is as near") {
  JobModel job = crowded();
  ServiceDemands input = demands(job, as_found(job), {}, {});
  const double measured_s = job.batch / job.rate;
  input.cpu_s *= 1.15;
  input.limit_s = 0.98 * measured_s;
  Recursion recursion(job);
  REQUIRE(recursion.play(input, job.batch).step_s > 1.05 * measured_s);
  recursion.fit(input);
  CHECK(recursion.play(input, job.batch).step_s == doctest::Approx(measured_s).epsilon(0.01));
  input.limit_s = 0.0;
  CHECK(recursion.play(input, job.batch).step_s == doctest::Approx(measured_s).epsilon(0.02));
}

/// W workers in turn, of which batch b begins only once batch b - n was handed over; when each batch is handed over.
std::vector<double> at_a_time(std::size_t workers, std::size_t n, const std::vector<simulation::BatchWork>& work,
                              const std::vector<simulation::StepWork>& steps) {
  std::vector<double> free_s(workers, 0.0);
  std::vector<double> delivered_s;
  double asked_s = 0.0;
  for (std::size_t i = 0; i < work.size(); ++i) {
    const double begun_s = std::max(free_s[i % workers], i < n ? 0.0 : delivered_s[i - n]);
    free_s[i % workers] = begun_s + work[i].read_s + work[i].cpu_s + work[i].other_s;
    delivered_s.push_back(std::max(free_s[i % workers], asked_s));
    asked_s = delivered_s.back() + steps[i].device_s + steps[i].cpu_s;
  }
  return delivered_s;
}

TEST_CASE("n batches at a time are as good as n workers that prefetch one each, however many workers there are") {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  for (int round = 0; round < 200; ++round) {
    const std::size_t workers = 1 + random() % 16;
    const std::size_t n = 1 + random() % workers;
    std::vector<simulation::BatchWork> work(60);
    std::vector<simulation::StepWork> steps(60);
    for (auto& batch : work) batch = {uniform(random), uniform(random) * uniform(random), 0.1};
    for (auto& step : steps) step = {0.3 * uniform(random), 0.1 * uniform(random)};
    const auto expected = simulation::run_loader({static_cast<int>(n), 1, true}, work, steps).delivered_s;
    const auto got = at_a_time(workers, n, work, steps);
    CAPTURE(workers);
    CAPTURE(n);
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(expected[i]).epsilon(1e-12));
  }
}

TEST_CASE("a block of n at a time is observed as one of n workers that prefetch one batch") {
  made::TrueJob truth;
  Profile profile = made::profile_of(truth);
  Point point;
  point.phase = "cached";
  point.method = "differential";
  point.setting = {{"workers", "1"}, {"prefetch", "1"}};
  point.estimate =
      Estimate<SamplesPerSecond>{SamplesPerSecond(50.0), SamplesPerSecond(49.0), SamplesPerSecond(51.0), 4};
  profile.points.push_back(point);
  const auto job = job_model(profile);
  REQUIRE(job.ok());
  const Observation& seen = job.value().observations.back();
  REQUIRE(seen.prefetch.has_value());
  CHECK(*seen.prefetch == 1);
  const Setting setting = setting_of(job.value(), seen);
  CHECK(setting.workers == 1);
  CHECK(setting.prefetch == 1);
  CHECK(as_found(job.value()).prefetch == truth.prefetch);
}

}  // namespace
}  // namespace stallcast
