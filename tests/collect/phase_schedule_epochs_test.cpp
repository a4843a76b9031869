/// The schedule of phases against made-up jobs: epochs that are short, and blocks that take long.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "tests/collect/scheduled_job.hpp"

namespace {

using namespace stallcast;
using namespace stallcast::collect;
using record::Phase;
using record::Segment;

std::uint64_t length_of(const Segment& segment) {
  return segment.phase == static_cast<std::uint32_t>(Phase::supply_cached) ? 0 : segment.batches;
}

TEST_CASE("no block straddles the end of an epoch") {
  Job job;
  job.epoch = 57;
  PhaseSchedule schedule(*job.control, usual_wants());
  job.run(schedule, 40.0);
  const auto segments = job.published();
  REQUIRE(segments.size() > 5);
  for (const Segment& segment : segments) {
    if (length_of(segment) == 0) continue;
    CHECK(segment.first / 57 == (segment.first + segment.batches) / 57);
  }
}

TEST_CASE("an epoch too short for a block is said, and the run then ends with its budget") {
  Job job;
  job.epoch = 12;
  PhaseSchedule schedule(*job.control, usual_wants());
  job.run(schedule, 20.0);
  CHECK(job.published().empty());
  CHECK(schedule.obstacle().find("12 batches") != std::string::npos);
  job.run(schedule, 45.0);
  REQUIRE(job.published().size() == 1);
  CHECK(job.published()[0].phase == static_cast<std::uint32_t>(Phase::end));
}

TEST_CASE("epochs too short for a round are joined, and blocks then go on over their ends") {
  Job job;
  job.epoch = 16;
  job.joins = true;
  PhaseSchedule schedule(*job.control, usual_wants());
  job.run(schedule, 40.0);
  CHECK(schedule.obstacle().empty());
  const auto segments = job.published();
  REQUIRE(segments.size() > 8);
  CHECK(segments[0].first >= 48);  // three epochs were watched as found, or ended before the passes were joined
  CHECK(segments[0].first <= 80);
  // 10 of transients; of 16 batches of an epoch 10 count, and 15 are wanted.
  CHECK(segments[0].batches >= 34);
  CHECK(segments[0].batches <= 36);
  for (std::size_t i = 1; i < segments.size(); ++i) {
    CHECK(segments[i].first >= segments[i - 1].first + length_of(segments[i - 1]));
  }
}

TEST_CASE("epochs that hold a round are left as they are, and so are those that a script leaves early") {
  Job job;
  job.epoch = 80;
  job.joins = true;
  PhaseSchedule schedule(*job.control, usual_wants());
  job.run(schedule, 30.0);
  CHECK(job.control->joins_passes.load() == 0);
  CHECK_FALSE(job.published().empty());
}

TEST_CASE("where the ranks do not join their short epochs, blocks lie within them if they can") {
  Job job;
  job.epoch = 24;
  PhaseSchedule schedule(*job.control, usual_wants());
  job.run(schedule, 9.0);
  CHECK(job.control->joins_passes.load() == 1);
  CHECK(job.published().empty());  // it is waited for three of them
  job.run(schedule, 30.0);
  REQUIRE(job.published().size() > 2);
  for (const Segment& segment : job.published()) {
    if (length_of(segment) == 0) continue;
    CHECK(segment.first / 24 == (segment.first + segment.batches) / 24);
  }
}

TEST_CASE("where cold batches come slower than those as found, cold blocks are shorter and the others go over them") {
  Job job;
  job.rate = 40.0;
  job.cold_rate = 10.0;
  PhaseWants wants = usual_wants();
  wants.extras = true;
  wants.budget = Seconds(1000.0);
  PhaseSchedule schedule(*job.control, wants);
  job.run(schedule, 120.0);
  const auto segments = job.published();
  REQUIRE(segments.size() > 30);
  const std::uint32_t whole = segments[0].batches;  // 60 of them measured, 10 of transients; nobody knew better yet
  CHECK(segments[1].lists == 0);
  const auto cold = std::find_if(segments.begin(), segments.end(), [](const Segment& segment) {
    return segment.round == 2 && segment.phase == static_cast<std::uint32_t>(Phase::cold);
  });
  REQUIRE(cold != segments.end());
  CHECK(cold->batches <= 27);  // 15 measured
  for (const Segment& segment : segments) {
    if (segment.round < 2) continue;
    const auto phase = static_cast<Phase>(segment.phase);
    if (phase == Phase::cold) CHECK(segment.batches <= 27);
    if (phase == Phase::half_cached) CHECK(segment.batches <= 54);
    if (phase == Phase::cached || phase == Phase::perturb_cpu) CHECK(segment.batches >= whole);
    if (phase != Phase::cold && phase != Phase::synthetic) CHECK(segment.lists <= 27);
    if (phase != Phase::cold && phase != Phase::synthetic) CHECK(segment.lists >= 22);
  }
}

}  // namespace
