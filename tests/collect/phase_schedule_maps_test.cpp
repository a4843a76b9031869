/// The schedule of phases for data that are read through maps of their files.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/collect/scheduled_job.hpp"

namespace {

using namespace stallcast;
using namespace stallcast::collect;
using record::Phase;
using record::Segment;

TEST_CASE("of maps, cached blocks go over the lists once before they count, and cold ones go by their own rate") {
  Job job;
  job.control->maps_read = 1;
  PhaseWants wants = usual_wants();
  wants.extras = true;
  wants.phases.push_back(Phase::supply_cold);
  PhaseSchedule schedule(*job.control, wants);
  job.arm();
  for (int beat = 0; beat < 500; ++beat) {
    const std::uint64_t turn = job.control->phases[0].turns.load();
    job.rate = 40.0;  // what the kernel reads around a page has them in memory soon
    for (const Segment& segment : job.published()) {
      const bool cold = segment.phase == static_cast<std::uint32_t>(Phase::cold);
      if (cold && segment.first <= turn && turn < segment.first + segment.batches) job.rate = 4.0;
    }
    job.run(schedule, 0.1);
  }
  const auto segments = job.published();
  const auto longest = [&](Phase phase) {
    std::uint32_t most = 0;
    for (const Segment& segment : segments) {
      if (segment.phase == static_cast<std::uint32_t>(phase)) most = std::max(most, segment.batches);
    }
    return most;
  };
  CHECK(longest(Phase::cold) == 4 + 4 + 2 + 12);  // as few as tell anything: 1.5 s of 4 a second are fewer
  CHECK(longest(Phase::half_cached) == 0);
  CHECK(longest(Phase::perturb_cpu) == 0);
  const auto fewer = [&](Phase phase) {
    return std::count_if(segments.begin(), segments.end(), [phase](const Segment& segment) {
      return segment.phase == static_cast<std::uint32_t>(phase) && segment.workers == 1;
    });
  };
  CHECK(fewer(Phase::cold) >= 2);
  for (const Segment& segment : segments) {
    if (segment.phase != static_cast<std::uint32_t>(Phase::cached)) continue;
    CHECK(segment.lists == longest(Phase::cold));
    CHECK(segment.batches >= segment.lists + 60);  // 1.5 s of 40 a second
  }
}

}  // namespace
