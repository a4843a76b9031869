/// How a phased run ends: by its budget, by ranks that have left, or because nothing happens any more.
#include <doctest/doctest.h>
#include <unistd.h>

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

}  // namespace
