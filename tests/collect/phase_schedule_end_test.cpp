/// How a phased run ends: by its budget, by ranks that have left, or because nothing happens any more.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>

#include "tests/collect/scheduled_job.hpp"

namespace {

using namespace stallcast;
using namespace stallcast::collect;
using record::Phase;
using record::Segment;

TEST_CASE("blocks that turn out slower than all before are cut short once the budget is over") {
  Job job;
  job.workers = 0;
  PhaseWants wants = usual_wants();
  wants.budget = Seconds(20.0);
  PhaseSchedule schedule(*job.control, wants);
  job.run(schedule, 4.0);
  job.rate = 0.5;
  job.run(schedule, 20.0);
  const auto segments = job.published();
  REQUIRE(segments.back().phase == static_cast<std::uint32_t>(Phase::end));
  CHECK(segments.back().first <= job.control->phases[0].turns.load() + 8);
}

TEST_CASE("a job that takes no batches any more is overdue 30 s after its budget, one that is gone is not") {
  Job job;
  PhaseWants wants = usual_wants();
  wants.budget = Seconds(10.0);
  PhaseSchedule schedule(*job.control, wants);
  job.control->ranks[0].pid.store(static_cast<std::uint64_t>(getpid()));
  CHECK_FALSE(schedule.overdue(job.now_ns));
  job.run(schedule, 8.0);
  job.rate = 0.0;
  job.run(schedule, 31.0);
  CHECK_FALSE(schedule.overdue(job.now_ns));
  job.run(schedule, 2.0);
  const auto overdue = schedule.overdue(job.now_ns);
  REQUIRE(overdue);
  CHECK(overdue->find("80 batches, the last one 33 s before") != std::string::npos);
  job.control->ranks[0].pid.store(1U << 30U);
  CHECK_FALSE(schedule.overdue(job.now_ns));
}

TEST_CASE("once every rank has left, whoever started them has some seconds to end") {
  Job job;
  PhaseWants wants = usual_wants();
  wants.budget = Seconds(10.0);
  PhaseSchedule schedule(*job.control, wants);
  job.run(schedule, 8.0);
  record::PhaseSlot& other = job.control->phases[1];
  other.armed.store(1);
  job.control->phases[0].left.store(1);
  job.run(schedule, 10.0);  // beyond the budget: the end is published
  CHECK_FALSE(schedule.ranks_have_left());
  other.left.store(1);
  job.run(schedule, 0.5);
  CHECK(schedule.ranks_have_left());
  CHECK_FALSE(schedule.is_over(job.now_ns));
  job.run(schedule, 3.0);
  CHECK(schedule.is_over(job.now_ns));
}

TEST_CASE("where rounds do not fit into the budget, the run tells which one would do") {
  Job job;
  job.rate = 1.0;
  PhaseWants wants = usual_wants();
  wants.budget = Seconds(60.0);
  PhaseSchedule schedule(*job.control, wants);
  job.run(schedule, 10.0);
  CHECK_FALSE(schedule.budget_needed().has_value());  // it has not ended yet
  job.run(schedule, 70.0);
  REQUIRE(schedule.progress(job.now_ns).ended);
  REQUIRE(schedule.budget_needed().has_value());
  // Rounds of 22 + 22 + 8 batches and the supply's 22, at one a second, after some seconds as found.
  CHECK(schedule.budget_needed()->value() > 3 * 60.0);
  CHECK(schedule.budget_needed()->value() < 3 * 80.0);
  Job quick;
  quick.rate = 50.0;
  PhaseSchedule fits(*quick.control, wants);
  quick.run(fits, 80.0);
  REQUIRE(fits.progress(quick.now_ns).ended);
  CHECK_FALSE(fits.budget_needed().has_value());
}

TEST_CASE("a round that is completed between the publishing of the end and the end counts") {
  Job job;
  PhaseWants wants = usual_wants();
  wants.phases = {Phase::cold, Phase::cached};
  PhaseSchedule schedule(*job.control, wants);
  while (!schedule.progress(job.now_ns).ended) job.run(schedule, 0.1);
  const auto segments = job.published();
  REQUIRE(segments.size() > 3);
  const Segment& last = segments[segments.size() - 2];
  REQUIRE(last.phase == static_cast<std::uint32_t>(Phase::cached));
  REQUIRE(job.control->phases[0].turns.load() < last.first + last.batches);
  const int before = schedule.complete_rounds();
  job.run(schedule, 10.0);
  CHECK(schedule.complete_rounds() == before + 1);
}

TEST_CASE("supply batches that were published are run before the end") {
  for (double budget = 15.0; budget < 40.0; budget += 1.0) {
    Job job;
    PhaseWants wants = usual_wants();
    wants.extras = true;
    wants.budget = Seconds(budget);
    PhaseSchedule schedule(*job.control, wants);
    while (!schedule.progress(job.now_ns).ended) job.run(schedule, 0.1);
    const auto segments = job.published();
    REQUIRE(segments.size() > 1);
    const Segment& last = segments[segments.size() - 2];
    const bool is_last_supply = last.phase == static_cast<std::uint32_t>(Phase::supply_cached);
    CHECK(segments.back().first == last.first + (is_last_supply ? 1 : last.batches));
  }
}

TEST_CASE("what supply batches cost goes to their own segment, also where two of them come before one turn") {
  Segment cached{
      .first = 10, .argument = 0, .batches = 20, .phase = 4, .round = 0, .workers = 0, .seed = 0, .lists = 0};
  Segment cold = cached;
  cold.phase = static_cast<std::uint32_t>(Phase::supply_cold);
  Segment after = cached;
  after.phase = static_cast<std::uint32_t>(Phase::cached);
  constexpr std::uint64_t k_s = 1'000'000'000;
  PhaseCosts costs;
  costs.follow(nullptr, 0, 1 * k_s);
  costs.follow(&cached, 10, 2 * k_s);
  costs.follow(&cached, 10, 3 * k_s);
  costs.follow(&cold, 10, 4 * k_s);
  costs.follow(&cold, 10, 9 * k_s);
  costs.follow(&after, 10, 12 * k_s);
  costs.follow(&after, 14, 14 * k_s);
  CHECK(costs.batches_per_s(Phase::as_is) == doctest::Approx(10.0));
  CHECK(costs.batches_per_s(Phase::supply_cached) == doctest::Approx(10.0));
  CHECK(costs.batches_per_s(Phase::supply_cold) == doctest::Approx(2.5));
  CHECK(costs.batches_per_s(Phase::cached) == doctest::Approx(2.0));
}

TEST_CASE("of two supply segments before one turn the slowest rank says which it is in") {
  Job job;
  PhaseWants wants = usual_wants();
  wants.phases.push_back(Phase::supply_cold);
  PhaseSchedule schedule(*job.control, wants);
  const auto is_supply_cold = [](const Segment& segment) {
    return segment.phase == static_cast<std::uint32_t>(Phase::supply_cold);
  };
  job.run(schedule, 4.0);
  auto segments = job.published();
  for (int beat = 0; beat < 200 && std::none_of(segments.begin(), segments.end(), is_supply_cold); ++beat) {
    job.run(schedule, 0.1);
    segments = job.published();
  }
  const auto found = std::find_if(segments.begin(), segments.end(), is_supply_cold);
  REQUIRE(found != segments.end());
  while (job.control->phases[0].turns.load() < found->first) job.run(schedule, 0.1);
  CHECK(schedule.progress(job.now_ns).phase == "supply, cached");
  job.control->phases[0].segment = static_cast<std::uint32_t>(found - segments.begin()) + 1;
  CHECK(schedule.progress(job.now_ns).phase == "supply, cold");
}

}  // namespace
