/// When measuring ends: by its estimates, by its budget, and not because of ranks that are elsewhere.
#include <doctest/doctest.h>

#include "tests/collect/scheduled_job.hpp"

namespace {

using namespace stallcast;
using namespace stallcast::collect;
using record::Phase;

double run_to_end(Job& job, PhaseSchedule& schedule, double at_most_s) {
  double elapsed = 0.0;
  while (elapsed < at_most_s && !schedule.progress(job.now_ns).ended) {
    job.run(schedule, 0.1);
    elapsed += 0.1;
  }
  return elapsed;
}

TEST_CASE("measuring keeps to its budget") {
  for (const double rate : {0.5, 2.0, 10.0, 300.0}) {
    Job job;
    job.rate = rate;
    PhaseWants wants = usual_wants();
    wants.budget = Seconds(40.0);
    PhaseSchedule schedule(*job.control, wants, &job.files);
    CHECK(run_to_end(job, schedule, 100.0) <= 40.2);
    REQUIRE(schedule.progress(job.now_ns).ended);
    CHECK(job.published().back().phase == static_cast<std::uint32_t>(Phase::end));
    CHECK(job.published().back().argument == 0);
  }
}

TEST_CASE("the end comes within seconds of the budget, however slow the batches are that it falls among") {
  for (const int ranks : {1, 2}) {
    Job job;
    job.ranks = ranks;
    job.rate = 30.0;
    job.cold_rate = 0.4;
    job.pass = 100'000;
    PhaseWants wants = usual_wants();
    wants.budget = Seconds(30.0);
    PhaseSchedule schedule(*job.control, wants, &job.files);
    CHECK(run_to_end(job, schedule, 40.0) <= 30.2);
    REQUIRE(schedule.progress(job.now_ns).ended);
    job.run(schedule, 10.0);
    CHECK(job.control->phases[0].turns.load() >= job.published().back().first);
  }
}

TEST_CASE("what was published is gone through before the end, where nothing more fits") {
  for (const double rate : {2.0, 7.0, 10.0, 50.0}) {
    for (const auto& phases : {usual_wants().phases, std::vector<Phase>{Phase::synthetic}}) {
      Job job;
      job.rate = rate;
      PhaseWants wants = usual_wants();
      wants.phases = phases;
      wants.budget = Seconds(60.0);
      PhaseSchedule schedule(*job.control, wants, &job.files);
      const double elapsed = run_to_end(job, schedule, 100.0);
      REQUIRE(schedule.progress(job.now_ns).ended);
      const auto published = job.published();
      REQUIRE(published.size() > 2);
      const Segment& last = published[published.size() - 2];
      if (elapsed < 59.0) CHECK(published.back().first >= last.first + last.batches);
    }
  }
}

TEST_CASE("tight estimates end it, but not before each wanted state had its rounds") {
  Job job;
  PhaseSchedule schedule(*job.control, usual_wants(), &job.files);
  schedule.set_enough(true);
  const double elapsed = run_to_end(job, schedule, 130.0);
  CHECK(elapsed < 119.0);
  CHECK(schedule.complete_rounds() >= 3);
  CHECK(job.published(Phase::cached).size() >= 3);
}

TEST_CASE("where memory cannot come within the budget, tight estimates end it without") {
  Job job;
  job.pass = 100'000;
  job.files.untold_before = job.pass;
  PhaseSchedule schedule(*job.control, usual_wants(), &job.files);
  schedule.set_enough(true);
  CHECK(run_to_end(job, schedule, 130.0) < 60.0);
  CHECK(job.published(Phase::cached).empty());
  CHECK(schedule.why_not_cached().find("first pass") != std::string::npos);
}

TEST_CASE("where the budget held fewer rounds from memory than wanted, it is told how long they would take") {
  const auto fell_short = [](double budget_s, double takes_s) {
    Job job;
    job.pass = 100'000;
    job.workers = 8;
    job.rate = 4.0;
    job.waited = 0.4;
    job.files.takes_s = takes_s;
    PhaseWants wants = usual_wants();
    wants.budget = Seconds(budget_s);
    PhaseSchedule schedule(*job.control, wants, &job.files);
    job.run(schedule, budget_s + 1.0);
    return schedule.fell_short();
  };
  const auto few = fell_short(80.0, 8.0);
  REQUIRE(few);
  CHECK(few->rounds >= 1);
  CHECK(few->rounds < 3);
  CHECK(few->of == 3);
  CHECK(few->budget.value() > 80.0);
  CHECK_FALSE(fell_short(few->budget.value() * 1.2, 8.0));
  const auto none = fell_short(40.0, 100.0);
  REQUIRE(none);
  CHECK(none->rounds == 0);
  CHECK(none->budget.value() > 80.0);
  CHECK_FALSE(fell_short(300.0, 8.0));
}

TEST_CASE("it is over when all ranks are at the end, or 30 s later") {
  Job job;
  job.ranks = 2;
  PhaseWants wants = usual_wants();
  wants.budget = Seconds(20.0);
  wants.stop = true;
  PhaseSchedule schedule(*job.control, wants, &job.files);
  run_to_end(job, schedule, 30.0);
  REQUIRE(schedule.progress(job.now_ns).ended);
  CHECK(job.published().back().argument == 1);
  CHECK_FALSE(schedule.is_over(job.now_ns));
  job.control->phases[0].at_end.store(2);
  CHECK_FALSE(schedule.is_over(job.now_ns));
  SUBCASE("all") {
    job.control->phases[1].at_end.store(2);
    CHECK(schedule.is_over(job.now_ns));
  }
  SUBCASE("late") {
    CHECK(schedule.is_over(job.now_ns + 31'000'000'000ULL));
  }
}

TEST_CASE("files are let go of at the end") {
  Job job;
  job.files.takes_s = 1000.0;
  PhaseWants wants = usual_wants();
  wants.budget = Seconds(40.0);
  PhaseSchedule schedule(*job.control, wants, &job.files);
  run_to_end(job, schedule, 60.0);
  CHECK(job.files.state() == FilesAhead::State::idle);
  CHECK(schedule.why_not_cached().find("fitted into the budget") != std::string::npos);
}

}  // namespace
