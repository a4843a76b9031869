#include "model/job/operators.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "model/predict/without_operators.hpp"
#include "tests/model/asking.hpp"
#include "tests/model/made_profile.hpp"

namespace stallcast {
namespace {

using made::answer;
using made::ask;
using made::profile_of;
using made::TrueJob;
using Words = std::vector<std::string>;

/// A job that waits for its workers alone.
TrueJob starved_by_work() {
  TrueJob job;
  job.device_s = 0.02;
  job.cores = 8.0;
  return job;
}

void add_operator(Profile& profile, const char* name, const char* where, const char* kind, double share) {
  Operator& row = profile.operators.emplace_back();
  row.name = name;
  row.where = where;
  row.kind = kind;
  const double cpu = share * profile.resources.worker_cpu->mean.value();
  row.cpu = Estimate<SecondsPerSample>{SecondsPerSample(cpu), SecondsPerSample(0.99 * cpu),
                                       SecondsPerSample(1.01 * cpu), 500};
  row.wall = row.cpu;
  row.busy = row.cpu_share = Estimate<Fraction>{share, 0.99 * share, 1.01 * share, 500};
}

Profile with_operators(const TrueJob& job) {
  Profile profile = profile_of(job);
  add_operator(profile, "__getitem__", "", "getitem", 0.4);
  add_operator(profile, "Resize", "transform[0]", "operator", 0.3);
  add_operator(profile, "Flip", "transform[1]", "operator", 0.1);
  add_operator(profile, "Flip", "transform[2]", "operator", 0.1);
  add_operator(profile, "collate", "", "collate", 0.05);
  add_operator(profile, "reading files", "", "read", 0.03);
  return profile;
}

double rate_with(const Profile& profile, const Words& settings) {
  return answer(profile, settings).throughput.mean.value();
}

}  // namespace

TEST_CASE("a job without an operator runs as one whose workers compute that much less") {
  TrueJob job = starved_by_work();
  const Profile profile = with_operators(job);
  const Prediction without = answer(profile, {"operator=Resize:off"});
  job.cpu_s *= 0.7;
  const double truth = made::play(job).rate;
  CHECK(without.throughput.mean.value() == doctest::Approx(truth).epsilon(0.02));
  CHECK(without.throughput.ci90_low.value() <= truth);
  CHECK(without.throughput.ci90_high.value() >= truth);
  CHECK_FALSE(without.notes.empty());
}

TEST_CASE("names mean all of a class, places one; several changes add up") {
  const Profile profile = with_operators(starved_by_work());
  CHECK(rate_with(profile, {"operator=Flip:off"}) ==
        doctest::Approx(rate_with(profile, {"operator=transform[1]:off+transform[2]:off"})));
  CHECK(rate_with(profile, {"operator=Flip:off"}) > rate_with(profile, {"operator=transform[1]:off"}));
  CHECK(rate_with(profile, {"operator=Resize:x2"}) == doctest::Approx(rate_with(profile, {"operator=Resize:2x"})));
  CHECK(rate_with(profile, {"operator=__getitem__:x4+collate:x2"}) > rate_with(profile, {"operator=__getitem__:x4"}));
}

TEST_CASE("an operator on the accelerator leaves the workers and lengthens the step") {
  TrueJob job = starved_by_work();
  const Profile profile = with_operators(job);
  const Prediction moved = answer(profile, {"operator=Resize:gpu20"});
  job.device_s += 32.0 * 0.3 * job.cpu_s / 20.0;
  job.cpu_s *= 0.7;
  CHECK(moved.throughput.mean.value() == doctest::Approx(made::play(job).rate).epsilon(0.02));
  CHECK(moved.extrapolated);
  // A step that is all there is to wait for gets longer by what it is given.
  TrueJob computing = starved_by_work();
  computing.device_s = 0.5;
  computing.cpu_s = 0.002;
  const Profile bound = with_operators(computing);
  const double found = bound.rates.as_is->mean.value();
  const double longer = 32.0 * 0.3 * computing.cpu_s / 0.5;
  CHECK(rate_with(bound, {"operator=Resize:gpux0.5"}) == doctest::Approx(32.0 / (32.0 / found + longer)).epsilon(0.01));
  CHECK(rate_with(bound, {"operator=Resize:gpu0.5", "gpu_speedup=2"}) > rate_with(bound, {"operator=Resize:gpu0.5"}));
  // Everything but putting batches together.
  CHECK(rate_with(profile, {"operator=all:gpu1000"}) >
        rate_with(profile, {"operator=__getitem__:gpu1000+Resize:gpu1000"}));
  CHECK(rate_with(profile, {"operator=all:off"}) >= rate_with(profile, {"operator=all:gpu1000"}));
}

TEST_CASE("the faster an operator the better, and x1 changes nothing") {
  const Profile profile = with_operators(starved_by_work());
  const double found = rate_with(profile, {});
  CHECK(rate_with(profile, {"operator=Resize:x1"}) == found);
  double before = rate_with(profile, {"operator=Resize:x0.5"});
  CHECK(before < found);
  for (const char* change : {"x1", "x1.5", "x2", "x10", "off"}) {
    const double now = rate_with(profile, {std::string("operator=Resize:") + change});
    CHECK(now >= before);
    before = now;
  }
  TrueJob busy = starved_by_work();
  busy.device_s = 2.0;
  const Profile bound = with_operators(busy);  // by its device: nothing is gained
  CHECK(rate_with(bound, {"operator=Resize:off"}) == doctest::Approx(rate_with(bound, {})).epsilon(0.01));
}

TEST_CASE("removing everything leaves a finite prediction") {
  const Profile profile = with_operators(starved_by_work());
  const double most = rate_with(profile, {"operator=Resize:off+Flip:off+__getitem__:off+collate:off"});
  CHECK(std::isfinite(most));
  CHECK(answer(profile, {"operator=Resize:off+Flip:off+__getitem__:off"}).extrapolated);
}

TEST_CASE("waiting for a core between samples is no part of what an operator waits") {
  Profile profile = with_operators(starved_by_work());
  const SecondsPerSample cpu = profile.resources.worker_cpu->mean;
  const auto of_cpu = [&](double share) {
    return Estimate<SecondsPerSample>{cpu * share, cpu * (0.99 * share), cpu * (1.01 * share), 500};
  };
  profile.resources.worker_run_delay = of_cpu(0.9);
  Operator& resize = profile.operators[1];
  resize.wall = of_cpu(0.6);  // of which it computes for half
  const auto waits = [&] {
    JobModel job;
    job.cpu_s = cpu.value();
    job.other_s = 1.0;
    read_operators(profile, job);
    return job.operators[1].other_s / cpu.value();
  };
  CHECK(waits() == 0.0);  // 0.6 - 0.3 * 1.9: the cores explain all but a little
  add_operator(profile, "waiting for a core", "", "core", 0.0);
  profile.operators.back().wall = of_cpu(0.9);
  CHECK(waits() == doctest::Approx(0.3));
}

TEST_CASE("mistakes are named") {
  const Profile profile = with_operators(starved_by_work());
  const auto misspelt = predict(profile, ask({"operator=Resise:x2"}));
  REQUIRE_FALSE(misspelt.ok());
  CHECK(misspelt.error().code == ErrorCode::usage);
  CHECK(misspelt.error().hint == "did you mean 'Resize'?");
  const auto none = predict(profile_of(starved_by_work()), ask({"operator=Resize:x2"}));
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().code == ErrorCode::not_enough_data);
  for (const char* bad : {"operator=Resize", "operator=:x2", "operator=Resize:fast", "operator=Resize:x0",
                          "operator=Resize:x2+Resize:x3", "operator=Resize:"}) {
    CAPTURE(bad);
    const auto scenario = parse_scenario(Words{bad});
    REQUIRE_FALSE(scenario.ok());
    CHECK(scenario.error().code == ErrorCode::usage);
    CHECK_FALSE(scenario.error().hint.empty());
  }
  CHECK_FALSE(predict(profile, ask({"operator=reading files:off"})).ok());
}

TEST_CASE("the report asks for the dearest operators, each by an address of its own") {
  const Profile profile = with_operators(starved_by_work());
  const auto without = without_each_operator(profile, 2);
  REQUIRE(without.size() == 2);
  CHECK(without.at(1).scenario.front().value == "Resize:off");
  CHECK(without.at(2).scenario.front().value == "transform[1]:off");
  CHECK(without_each_operator(profile_of(starved_by_work()), 8).empty());
}

}  // namespace stallcast
