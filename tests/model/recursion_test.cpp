#include "model/recursion.hpp"

#include <doctest/doctest.h>

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
  QuickInput input = demands(job, as_found(job), {}, {});
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
  QuickInput input = demands(job, as_found(job), {}, {});
  input.limit_s = 0.97 * job.batch / job.rate;  // a probe that found it a little too fast
  recursion.fit(input);
  CHECK(recursion.play(input, job.batch).step_s == doctest::Approx(job.batch / job.rate).epsilon(0.006));
  input.limit_s *= 3.0;
  CHECK(recursion.play(input, job.batch).step_s == doctest::Approx(input.limit_s / 0.97).epsilon(0.006));
  input.limit_given = true;
  CHECK(recursion.play(input, job.batch).step_s == doctest::Approx(input.limit_s).epsilon(0.006));
}

}  // namespace
}  // namespace stallcast
