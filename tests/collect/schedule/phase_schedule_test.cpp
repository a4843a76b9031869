/// The schedule against a made-up job: what is published, when, and when measuring ends.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "tests/collect/scheduled_job.hpp"

namespace {

using namespace stallcast;
using namespace stallcast::collect;
using record::Phase;
using record::Segment;

TEST_CASE("nothing is published before the job was watched as found") {
  Job job;
  PhaseSchedule schedule(*job.control, usual_wants(), &job.files);
  job.run(schedule, 2.5);
  CHECK(job.published().empty());
  job.run(schedule, 3.0);
  CHECK_FALSE(job.published().empty());
}

TEST_CASE("segments follow each other without overlap, and bursts are as long as what is under way") {
  Job job;
  PhaseSchedule schedule(*job.control, usual_wants(), &job.files);
  job.run(schedule, 60.0);
  const std::vector<Segment> segments = job.published();
  REQUIRE(segments.size() > 8);
  for (std::size_t i = 1; i < segments.size(); ++i) {
    CHECK(segments[i].first >= segments[i - 1].first + segments[i - 1].batches);
  }
  for (const Segment& burst : job.published(Phase::synthetic)) CHECK(burst.batches == 4);
}

TEST_CASE("a segment is published before any loader puts its first index list") {
  Job job;
  PhaseSchedule schedule(*job.control, usual_wants(), &job.files);
  std::size_t seen = 0;
  for (int step = 0; step < 600; ++step) {
    job.run(schedule, 0.1);
    const auto segments = job.published();
    const std::uint64_t turn = job.control->phases[0].turns.load();
    for (; seen < segments.size(); ++seen) CHECK(segments[seen].first > turn + 4);  // W k = 4 are under way
  }
  CHECK(seen > 4);
}

TEST_CASE("a burst never lies across the end of a pass") {
  for (const std::uint64_t pass : {23U, 40U, 61U, 100U, 333U}) {
    Job job;
    job.pass = pass;
    PhaseSchedule schedule(*job.control, usual_wants(), &job.files);
    job.run(schedule, 90.0);
    REQUIRE_FALSE(job.published(Phase::synthetic).empty());
    for (const Segment& burst : job.published(Phase::synthetic)) {
      CHECK(burst.first / pass == (burst.first + burst.batches - 1) / pass);
    }
  }
}

TEST_CASE("blocks go on over the ends of passes that are too short for them") {
  Job job;
  job.pass = 24;
  job.workers = 4;
  PhaseSchedule schedule(*job.control, usual_wants(), &job.files);
  job.run(schedule, 100.0);
  const auto cold = job.published(Phase::cold);
  REQUIRE(cold.size() >= 2);
  CHECK(cold.front().batches >= job.pass);
  CHECK_FALSE(job.published(Phase::cached).empty());
}

TEST_CASE("passes that are over before a segment can be published have blocks, too") {
  Job job;
  job.rate = 40.0;
  job.pass = 5;
  PhaseSchedule schedule(*job.control, usual_wants(), &job.files);
  job.run(schedule, 100.0);
  CHECK(job.published(Phase::cold).size() >= 2);
  CHECK_FALSE(job.published(Phase::cached).empty());
}

/// Rounds from memory before the first that has a further block, for predictions.
int rounds_without_extra(double budget_s) {
  Job job;
  job.rate = 6.0;
  job.waited = 0.8;
  job.pass = 100'000;
  PhaseWants wants = usual_wants();
  wants.extras = true;
  wants.budget = Seconds(budget_s);
  PhaseSchedule schedule(*job.control, wants, &job.files);
  job.run(schedule, budget_s);
  int rounds = 0;
  for (const Segment& segment : job.published()) {
    if (segment.at_once > 0 || is(segment, Phase::perturb_cpu) || is(segment, Phase::perturb_read)) return rounds;
    rounds += is(segment, Phase::cached) ? 1 : 0;
  }
  return -rounds;  // none had one
}

TEST_CASE("what only predictions need comes later where the budget is short, and not in the last rounds") {
  CHECK(rounds_without_extra(60.0) <= -3);
  const int rounds = rounds_without_extra(600.0);
  CHECK(rounds >= 1);
  CHECK(rounds <= 2);
}

TEST_CASE(
    "the first cold block is a short one where the job did not wait for storage as found, or reads through maps") {
  const auto first_cold = [](bool found_cold, bool maps) {
    Job job;
    job.rate = 30.0;
    job.cold_rate = 0.5;
    job.pass = 100'000;
    job.found_cold = found_cold;
    job.control->maps_read.store(maps ? 1 : 0);
    PhaseSchedule schedule(*job.control, usual_wants(), &job.files);
    job.run(schedule, 10.0);
    return job.published(Phase::cold).at(0).batches;
  };
  CHECK(first_cold(true, false) == 4 + 2 + 45);
  CHECK(first_cold(false, false) == 4 + 2 + 12);
  CHECK(first_cold(true, true) == 4 + 2 + 12);
}

TEST_CASE("cold batches that take sixty times as long as others leave time for the other states") {
  Job job;
  job.rate = 30.0;
  job.cold_rate = 0.5;
  job.pass = 100'000;
  PhaseSchedule schedule(*job.control, usual_wants(), &job.files);
  job.run(schedule, 110.0);
  CHECK_FALSE(job.published(Phase::cached).empty());
  CHECK_FALSE(job.published(Phase::synthetic).empty());
}

TEST_CASE(
    "where no block of theirs was cold, cold groups are given up, and the rest of the budget is for the other states") {
  Job job;
  PhaseSchedule schedule(*job.control, usual_wants(), &job.files);
  job.run(schedule, 60.0);
  const std::size_t cold = job.published(Phase::cold).size();
  const std::size_t cached = job.published(Phase::cached).size();
  REQUIRE(cold >= 3);
  schedule.give_up_cold("none was cold");
  job.run(schedule, 50.0);
  CHECK(job.published(Phase::cold).size() == cold);
  CHECK(job.published(Phase::cached).size() >= cached + 3);
  CHECK(schedule.why_not_cold() == "none was cold");
}

TEST_CASE("slow cold batches make cold blocks shorter") {
  Job job;
  job.found_cold = true;
  job.rate = 40.0;
  job.cold_rate = 8.0;
  job.pass = 1000;
  PhaseSchedule schedule(*job.control, usual_wants(), &job.files);
  job.run(schedule, 60.0);
  const auto cold = job.published(Phase::cold);
  REQUIRE(cold.size() >= 3);
  CHECK(cold.back().batches < cold.front().batches);
}

TEST_CASE("slow cold batches make cold blocks of a stream shorter, too") {
  const auto longest = [](double cold_rate) {
    Job job;
    job.found_cold = true;
    job.rate = 40.0;
    job.cold_rate = cold_rate;
    job.pass = 1000;
    job.support = record::PhaseSupport::not_ahead;
    PhaseSchedule schedule(*job.control, usual_wants(), &job.files);
    job.run(schedule, 60.0);
    const auto cold = job.published(Phase::cold);
    REQUIRE(cold.size() >= 2);
    return cold.back().batches;
  };
  CHECK(longest(8.0) < longest(40.0));
}

TEST_CASE("a cold block of a stream holds a shard of each worker, or two of its reads, unless that takes too long") {
  const auto last_cold = [](std::uint64_t between_opens, std::uint64_t between_reads, double rate) {
    Job job;
    job.found_cold = true;
    job.rate = rate;
    job.pass = 1000;
    job.workers = 4;
    job.support = record::PhaseSupport::not_ahead;
    job.files.between_opens = between_opens;
    job.files.between_reads = between_reads;
    PhaseSchedule schedule(*job.control, usual_wants(), &job.files);
    job.run(schedule, 60.0);
    const auto cold = job.published(Phase::cold);
    REQUIRE(cold.size() >= 2);
    return cold.back().batches;
  };
  const std::uint32_t usual = last_cold(1, 1, 20.0);
  CHECK(usual < 4 * 25);
  for (const std::uint32_t longer : {last_cold(25, 1, 20.0), last_cold(0, 25, 20.0), last_cold(25, 2, 20.0)}) {
    CHECK(longer >= 4 * 25 + 8);
    CHECK(longer < 2 * 4 * 25);
  }
  CHECK(last_cold(900, 25, 20.0) == last_cold(1, 25, 20.0));
  CHECK(last_cold(90, 1, 10.0) == last_cold(1, 1, 10.0));  // 38 s of two minutes
}

TEST_CASE("of a loader whose files cannot be chosen, blocks are as found and bursts") {
  Job job;
  job.pass = 0;
  job.support = record::PhaseSupport::hold_only;
  PhaseSchedule schedule(*job.control, usual_wants(), &job.files);
  job.run(schedule, 40.0);
  CHECK(job.published(Phase::cold).empty());
  CHECK(job.published(Phase::cached).empty());
  CHECK_FALSE(job.published(Phase::as_is).empty());
  for (const Segment& burst : job.published(Phase::synthetic)) CHECK(burst.made_as == 0);
  CHECK(job.files.asked + job.files.asked_all == 0);
}

TEST_CASE("where computing alone is wanted, there are bursts alone, in epochs that hardly hold what is under way too") {
  for (const std::uint64_t pass : {0U, 12U, 400U}) {
    Job job;
    job.pass = pass;
    PhaseWants wants = usual_wants();
    wants.phases = {Phase::synthetic};
    PhaseSchedule schedule(*job.control, wants, &job.files);
    job.run(schedule, 40.0);
    CHECK(job.published(Phase::cold).size() + job.published(Phase::cached).size() == 0);
    CHECK(job.published(Phase::as_is).empty());
    const std::vector<Segment> bursts = job.published(Phase::synthetic);
    REQUIRE(bursts.size() > 4);
    for (std::size_t i = 2; i < bursts.size(); i += 2) {  // two of four batches a round; between rounds it is as found
      CHECK(bursts[i].first >= bursts[i - 1].first + bursts[i - 1].batches + 12);
    }
    CHECK(job.published(Phase::end).empty());
    CHECK(job.files.asked + job.files.asked_all == 0);
  }
}

TEST_CASE("a rate as found counts from where the job was armed") {
  Job job;
  job.rate = 0.2;  // a batch in 5 s, of a loader that was armed at its twentieth
  job.begin_at(20.0);
  PhaseSchedule schedule(*job.control, usual_wants(), &job.files);
  job.run(schedule, 15.0);
  CHECK_FALSE(schedule.progress(job.now_ns).ended);
  CHECK(job.published().empty());
}

TEST_CASE("where a hold is too short for the batches of a burst, computing alone has an obstacle") {
  Job job;
  job.rate = 0.5;
  job.workers = 8;
  job.control->made_batches.store(100);
  job.control->made_wall_ns.store(100);
  job.control->made_blocked_ns.store(90);
  PhaseWants wants = usual_wants();
  wants.phases = {Phase::synthetic};
  PhaseSchedule schedule(*job.control, wants, &job.files);
  job.run(schedule, 60.0);
  CHECK(job.published(Phase::synthetic).empty());
  CHECK(schedule.obstacle().find("too few batches are made within a hold") == 0);
}

TEST_CASE("of a job of long steps the first blocks from memory have no bursts, and no further block beside them") {
  Job job;
  job.workers = 8;
  job.rate = 4.0;  // 16 batches under way last for 4 s
  job.pass = 200;
  PhaseWants wants = usual_wants();
  wants.budget = Seconds(600.0);
  PhaseSchedule schedule(*job.control, wants, &job.files);
  job.run(schedule, 590.0);
  const auto cached = job.published(Phase::cached);
  REQUIRE(!cached.empty());
  std::size_t from_memory = 0;
  for (const Segment& burst : job.published(Phase::synthetic)) {
    if (burst.made_as != static_cast<std::uint32_t>(Phase::cached)) continue;
    ++from_memory;
    CHECK(burst.round > cached.front().round + 1);
  }
  CHECK(from_memory % 2 == 0);  // where there are any, a second one shows what the loader could do
  for (const Segment& segment : job.published()) {
    const bool further = segment.at_once > 0 || is(segment, Phase::perturb_cpu) || is(segment, Phase::perturb_read);
    if (further) CHECK(segment.round > cached.front().round + 1);
  }
}

TEST_CASE("without workers nothing is held") {
  Job job;
  job.workers = 0;
  PhaseSchedule schedule(*job.control, usual_wants(), &job.files);
  job.run(schedule, 60.0);
  CHECK(job.published(Phase::synthetic).empty());
  CHECK_FALSE(job.published(Phase::cold).empty());
  CHECK_FALSE(job.published(Phase::cached).empty());
}

TEST_CASE("a job that hardly waits is held twice in a row; one that is held for long only once") {
  Job quick;
  PhaseWants wants = usual_wants();
  PhaseSchedule schedule(*quick.control, wants, &quick.files);
  quick.run(schedule, 20.0);
  const auto segments = quick.published();
  REQUIRE(segments.size() >= 3);
  CHECK(is(segments[0], Phase::cold));
  CHECK(is(segments[1], Phase::synthetic));
  CHECK(is(segments[2], Phase::synthetic));
  CHECK(segments[2].first == segments[1].first + segments[1].batches);

  Job held;
  held.waited = 0.6;
  held.hold_s = 9.0;
  held.workers = 8;
  PhaseSchedule other(*held.control, wants, &held.files);
  held.run(other, 60.0);
  const auto bursts = held.published(Phase::synthetic);
  for (std::size_t i = 1; i < bursts.size(); ++i) {
    CHECK(bursts[i].first > bursts[i - 1].first + bursts[i - 1].batches);
  }
}

TEST_CASE("blocks hold whole steps where gradients are accumulated") {
  Job job;
  job.control->ranks[0].batches.store(300);
  job.control->ranks[0].steps.store(100);
  PhaseSchedule schedule(*job.control, usual_wants(), &job.files);
  job.run(schedule, 60.0);
  for (const Segment& block : job.published(Phase::cold)) CHECK(block.batches % 3 == 0);
  for (const Segment& burst : job.published(Phase::synthetic)) CHECK(burst.batches == 3);
}

TEST_CASE("further blocks are two of a kind: fewer at a time, then slower ones") {
  Job job;
  job.pass = 1000;
  PhaseWants wants = usual_wants();
  wants.extras = true;
  wants.budget = Seconds(300.0);
  PhaseSchedule schedule(*job.control, wants, &job.files);
  job.run(schedule, 280.0);
  std::vector<Segment> extras;
  for (const Segment& segment : job.published()) {
    if (segment.at_once > 0 || is(segment, Phase::perturb_cpu) || is(segment, Phase::perturb_read)) {
      extras.push_back(segment);
    }
  }
  REQUIRE(extras.size() >= 3);
  CHECK(extras[0].at_once == 1);
  CHECK(extras[1].at_once == 1);
  CHECK(is(extras[2], Phase::perturb_cpu));
  CHECK(extras[2].argument > 0);
}

TEST_CASE("where a step takes several batches there are no blocks of fewer at a time") {
  Job job;
  job.pass = 1000;
  job.control->ranks[0].batches.store(200);
  job.control->ranks[0].steps.store(100);
  PhaseWants wants = usual_wants();
  wants.extras = true;
  PhaseSchedule schedule(*job.control, wants, &job.files);
  job.run(schedule, 110.0);
  CHECK_FALSE(job.published(Phase::perturb_cpu).empty());
  for (const Segment& segment : job.published()) CHECK(segment.at_once == 0);
}

}  // namespace
