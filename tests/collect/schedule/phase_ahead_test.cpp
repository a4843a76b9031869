/// Files of the next round of a slow job in the schedule, against a made-up job: read while those of this one are in
/// use.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "tests/collect/scheduled_job.hpp"

namespace {

using namespace stallcast;
using namespace stallcast::collect;
using record::Phase;
using record::Segment;

/// 8 workers, steps of 250 ms; from storage a third less.
void slow_job(Job& job) {
  job.pass = 100'000;
  job.workers = 8;
  job.rate = 2.6;
  job.cached_rate = 4.0;
  job.waited = 0.4;
  job.hold_s = 5.0;
}

/// Goes through 300 s: blocks from memory lie in turns whose files are held, and nothing is read beside cold batches.
void check_rounds(Job& job) {
  PhaseWants wants = usual_wants();
  wants.budget = Seconds(300.0);
  PhaseSchedule schedule(*job.control, wants, &job.files);
  std::size_t seen = 0;
  for (int step = 0; step < 3000; ++step) {
    job.run(schedule, 0.1);
    check_held(job, seen);
    const std::uint64_t turn = job.control->phases[0].turns.load();
    for (const Segment& block : job.published(Phase::cold)) {
      if (block.first <= turn && turn < block.first + block.batches) CHECK_FALSE(job.files.is_reading());
    }
  }
  const auto cold = job.published(Phase::cold);
  for (const Segment& block : job.published(Phase::cached)) {
    const auto before =
        std::find_if(cold.begin(), cold.end(), [&](const Segment& c) { return c.round == block.round; });
    REQUIRE(before != cold.end());
    CHECK(before->first < block.first);
  }
}

TEST_CASE("files of a slow job's next round are read while those of this one are in use, and not beside cold batches") {
  Job job;
  slow_job(job);
  job.files.takes_s = 8.0;
  check_rounds(job);
  CHECK(job.files.asked == 1);  // of the first round
  CHECK(job.files.asked_next >= 3);
  const auto cached = job.published(Phase::cached);
  const auto cold = job.published(Phase::cold);
  REQUIRE(cached.size() >= 4);
  REQUIRE(cold.size() >= 4);
  CHECK(cached[1].first == cold[1].first + cold[1].batches + 16);  // right behind its burst
  CHECK(cached[1].batches < cached[0].batches);
}

TEST_CASE(
    "where batches are made quickly from memory, blocks of a slow job are as short as what is under way lets them") {
  const auto lengths = [](std::uint64_t cpu_ms, std::size_t cores,
                          record::PhaseSupport support = record::PhaseSupport::all) {
    Job job;
    slow_job(job);
    job.files.takes_s = 6.0;
    job.support = support;
    job.control->made_batches = 100;
    job.control->made_cpu_ns = 100 * cpu_ms * 1'000'000;
    PhaseWants wants = usual_wants();
    wants.budget = Seconds(300.0);
    wants.cores = cores;
    PhaseSchedule schedule(*job.control, wants, &job.files);
    job.run(schedule, 200.0);
    std::vector<std::uint64_t> found;
    for (const Segment& block : job.published(Phase::cached)) found.push_back(block.batches);
    REQUIRE(found.size() >= 2);
    return found;
  };
  // 16 of 41 ms on 2 cores are made within 2 steps of 0.23 s: those, twice, and 13 that count, and 16 that are next.
  for (const std::uint64_t batches : lengths(41, 2)) CHECK(std::abs(static_cast<int>(batches) - 33) <= 1);
  CHECK(lengths(300, 2)[0] > 45);  // it takes ten steps to make them
  CHECK(lengths(100, 8)[0] < 45);
  CHECK(lengths(300, 8)[0] > 45);  // of those that are given one by one, the last is never ready within a step
  CHECK(lengths(41, 2, record::PhaseSupport::not_ahead)[0] > 45);
}

TEST_CASE("a burst of slow batches is as long as the script may be held for their making") {
  const auto bursts = [](std::uint32_t workers, double rate) {
    Job job;
    slow_job(job);
    job.workers = workers;
    job.rate = rate;
    job.files.takes_s = 6.0;
    job.control->made_batches = 100;
    job.control->made_wall_ns = job.control->made_blocked_ns = 1000;
    PhaseWants wants = usual_wants();
    wants.budget = Seconds(600.0);
    PhaseSchedule schedule(*job.control, wants, &job.files);
    job.run(schedule, 300.0);
    std::vector<std::uint64_t> found;
    for (const Segment& burst : job.published(Phase::synthetic)) found.push_back(burst.batches);
    REQUIRE_FALSE(found.empty());
    CHECK(job.published(Phase::cold).front().batches == 3 * workers + 1);  // what is under way, and one of each
    return found;
  };
  CHECK(bursts(8, 2.6)[0] == 16);
  CHECK(bursts(16, 1.6)[0] == 11);
  CHECK(bursts(16, 0.5)[0] == 32);  // 3 from storage are too few: from memory
}

TEST_CASE("files of the next round that are not held in time are let go of, and asked for behind its cold group") {
  Job job;
  slow_job(job);
  job.files.takes_s = 17.0;
  check_rounds(job);
  CHECK(job.files.asked_next >= 1);
  CHECK(job.files.asked >= 2);
  CHECK(job.published(Phase::cached).size() >= 2);
}

TEST_CASE(
    "what is quicker from memory than was planned for fits into what was asked for; shared files are not read ahead") {
  Job job;
  slow_job(job);
  job.files.takes_s = 8.0;
  job.cached_rate = 20.0;
  check_rounds(job);
  CHECK(job.files.asked <= 2);  // how quick it is from memory is not known when the first one is planned
  CHECK(job.files.asked_next >= 3);
  CHECK(job.published(Phase::cached).size() >= 4);

  Job shards;
  slow_job(shards);
  shards.files.takes_s = 8.0;
  shards.files.shared = true;
  check_rounds(shards);
  CHECK(shards.files.asked_next == 0);
  CHECK(shards.files.asked >= 2);
}

TEST_CASE("a job whose bursts last moments leaves no time to read the next round's files in") {
  Job job;
  job.pass = 100'000;
  job.waited = 0.4;
  PhaseSchedule schedule(*job.control, usual_wants(), &job.files);
  job.run(schedule, 100.0);
  CHECK(job.files.asked >= 3);
  CHECK(job.files.asked_next == 0);
}

}  // namespace
