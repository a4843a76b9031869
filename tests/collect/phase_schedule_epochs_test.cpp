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
  // 10 of transients; of 16 batches of an epoch 10 count, and 24 are wanted.
  CHECK(segments[0].batches >= 46);
  CHECK(segments[0].batches <= 50);
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
  CHECK(cold->batches <= 34);  // 24 measured
  for (const Segment& segment : segments) {
    if (segment.round < 2) continue;
    const auto phase = static_cast<Phase>(segment.phase);
    if (phase == Phase::cold) CHECK(segment.batches <= 34);
    if (phase == Phase::half_cached) CHECK(segment.batches <= 68);
    if (phase == Phase::cached || phase == Phase::perturb_cpu) CHECK(segment.batches >= whole);
    if (phase != Phase::cold && phase != Phase::synthetic) CHECK(segment.lists <= 34);
    if (phase != Phase::cold && phase != Phase::synthetic) CHECK(segment.lists >= 22);
  }
}

/// Plays a job of which batches come at one rate as found and in cold blocks, at others from memory and replayed.
std::vector<Segment> played(std::uint64_t epoch, double found, double cached, PhaseWants wants, double waited = 0.0) {
  Job job;
  job.epoch = epoch;
  job.waited = waited;
  PhaseSchedule schedule(*job.control, std::move(wants));
  job.arm();
  for (int beat = 0; beat < 900; ++beat) {
    const std::uint64_t turn = job.control->phases[0].turns.load();
    job.rate = found;
    for (const Segment& segment : job.published()) {
      if (length_of(segment) == 0 || turn < segment.first || turn >= segment.first + segment.batches) continue;
      if (segment.phase == static_cast<std::uint32_t>(Phase::cached)) job.rate = cached;
      if (segment.phase == static_cast<std::uint32_t>(Phase::synthetic)) job.rate = 60.0;
    }
    job.run(schedule, 0.1);
  }
  return job.published();
}

PhaseWants long_wants() {
  PhaseWants wants = usual_wants();
  wants.budget = Seconds(1000.0);
  return wants;
}

TEST_CASE("what is left of an epoch before the next cold block is filled with batches from memory") {
  PhaseWants wants = long_wants();
  wants.phases = {Phase::cold, Phase::cached};
  const auto segments = played(100, 6.0, 18.0, wants);
  std::uint64_t as_found = 0;
  std::uint64_t fillers = 0;
  std::uint64_t end = segments.front().first;
  std::uint32_t last_phase = UINT32_MAX;
  for (const Segment& segment : segments) {
    if (segment.phase == static_cast<std::uint32_t>(Phase::end)) break;
    REQUIRE(segment.first >= end);
    as_found += segment.first - end;
    end = segment.first + length_of(segment);
    CHECK(segment.first / 100 == (end == segment.first ? segment.first : end) / 100);
    const bool again = segment.phase == static_cast<std::uint32_t>(Phase::cached) && last_phase == segment.phase;
    fillers += again ? 1 : 0;
    last_phase = segment.phase;
  }
  CHECK(fillers >= 3);
  CHECK(static_cast<double>(as_found) < 0.3 * static_cast<double>(end - segments.front().first));
}

TEST_CASE("where batches as found come as soon as those from memory, nothing is filled") {
  std::uint32_t of_round = UINT32_MAX;
  for (const Segment& segment : played(100, 10.0, 10.0, long_wants())) {
    if (segment.phase != static_cast<std::uint32_t>(Phase::cached)) continue;
    CHECK(segment.round != of_round);
    of_round = segment.round;
  }
}

TEST_CASE("a block of replayed batches is as long as an epoch has room, if that is enough for one") {
  std::size_t shorter = 0;
  std::uint32_t longest = 0;
  PhaseWants wants = long_wants();
  wants.extras = true;
  const auto segments = played(140, 6.0, 18.0, wants);
  for (const Segment& segment : segments) {
    if (segment.phase != static_cast<std::uint32_t>(Phase::synthetic) || segment.round < 2) continue;
    CHECK(segment.batches >= 24);
    longest = std::max(longest, segment.batches);
  }
  for (const Segment& segment : segments) {
    if (segment.phase == static_cast<std::uint32_t>(Phase::synthetic) && segment.round >= 2)
      shorter += segment.batches < longest ? 1 : 0;
  }
  CHECK(shorter > 0);
}

TEST_CASE("what is left of the first epoch is replayed where the job waits for most of it, after 12 s as found") {
  const auto first = [](double waited) {
    Job job;
    job.epoch = 110;
    job.rate = 6.0;
    job.workers = 4;
    job.waited = waited;
    PhaseSchedule schedule(*job.control, usual_wants());
    job.arm();
    job.run(schedule, 19.0);
    REQUIRE_FALSE(job.published().empty());
    return job.published().front();
  };
  const Segment replayed = first(0.7);
  CHECK(replayed.phase == static_cast<std::uint32_t>(Phase::synthetic));
  CHECK(replayed.first > 70);
  CHECK(replayed.first < 76);
  CHECK(replayed.first + replayed.batches == 109);
  const Segment waits_little = first(0.4);
  CHECK(waits_little.phase == static_cast<std::uint32_t>(Phase::cold));
  CHECK(waits_little.first == 110);
}

TEST_CASE(
    "a job that waits for its loader in any case has no supply blocks where four rounds would not fit beside them") {
  const auto rounds_in = [](double budget_s) {
    PhaseWants wants = usual_wants();
    wants.budget = Seconds(budget_s);
    std::vector<std::uint32_t> rounds;
    for (const Segment& segment : played(100, 6.0, 18.0, wants, 0.8)) {
      if (segment.phase == static_cast<std::uint32_t>(Phase::supply_cached)) rounds.push_back(segment.round);
    }
    return rounds;
  };
  const auto short_of_time = rounds_in(33.0);
  CHECK(std::count(short_of_time.begin(), short_of_time.end(), 0U) == 0);
  const auto has_time = rounds_in(200.0);
  REQUIRE_FALSE(has_time.empty());
  CHECK(has_time.front() == 0);
}

TEST_CASE("supply blocks of a job that waits for its loader in any case are run in every second round") {
  const auto rounds_of = [](double cached) {
    std::vector<std::uint32_t> rounds;
    for (const Segment& segment : played(0, 6.0, cached, long_wants())) {
      if (segment.phase == static_cast<std::uint32_t>(Phase::supply_cached)) rounds.push_back(segment.round);
    }
    return rounds;
  };
  const auto waits = rounds_of(18.0);
  REQUIRE(waits.size() >= 3);
  for (const std::uint32_t round : waits) CHECK(round % 2 == 0);
  const auto keeps_up = rounds_of(58.0);
  REQUIRE(keeps_up.size() >= 3);
  CHECK(keeps_up[1] == 1);
}

}  // namespace
