/// Blocks from memory in the schedule, against a made-up job: which files are asked for, when, and for how long held.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "tests/collect/scheduled_job.hpp"

namespace {

using namespace stallcast;
using namespace stallcast::collect;
using record::Phase;
using record::Segment;

TEST_CASE("where it can be told in the first pass which files come next, blocks from memory are in it") {
  Job job;
  job.pass = 100'000;
  PhaseSchedule schedule(*job.control, usual_wants(), &job.files);
  job.run(schedule, 100.0);
  CHECK(job.published(Phase::cached).size() >= 3);
  CHECK(job.files.asked_all == 0);
  CHECK(schedule.why_not_cached().empty());
}

TEST_CASE("in a first pass of which it cannot be told, it is asked once, and the files of all are not held") {
  Job job;
  job.pass = 100'000;
  job.files.untold_before = job.pass;
  PhaseSchedule schedule(*job.control, usual_wants(), &job.files);
  job.run(schedule, 40.0);
  CHECK(job.published(Phase::cached).empty());
  CHECK(job.files.asked == 1);
  CHECK(job.files.asked_all == 0);
  CHECK(job.published(Phase::cold).size() >= 3);
}

TEST_CASE("where what comes next can no longer be told, its files are let go of and cold rounds go on") {
  Job job;
  job.pass = 100'000;
  job.files.takes_s = 1000.0;
  PhaseSchedule schedule(*job.control, usual_wants(), &job.files);
  for (int i = 0; i < 300 && job.files.asked == 0; ++i) job.run(schedule, 0.1);
  REQUIRE(job.files.state() == FilesAhead::State::reading);
  const std::size_t before = job.published(Phase::cold).size();
  job.sight_is_lost = true;
  job.run(schedule, 20.0);
  CHECK(job.files.state() == FilesAhead::State::idle);
  CHECK(job.published(Phase::cold).size() > before);
  CHECK(job.published(Phase::cached).empty());
}

TEST_CASE("there are no blocks from memory before it can be told which files come next; then a round has both groups") {
  Job job;
  job.files.untold_before = job.pass;
  PhaseSchedule schedule(*job.control, usual_wants(), &job.files);
  job.run(schedule, 60.0);
  const auto cached = job.published(Phase::cached);
  REQUIRE_FALSE(cached.empty());
  CHECK(job.files.asked + job.files.asked_all > 0);
  for (const Segment& block : cached) {
    CHECK(block.first >= job.pass);
    const auto cold = job.published(Phase::cold);
    CHECK(std::any_of(cold.begin(), cold.end(), [&](const Segment& other) { return other.round == block.round; }));
  }
  for (const Segment& burst : job.published(Phase::synthetic)) {
    const bool from_memory = burst.made_as == static_cast<std::uint32_t>(Phase::cached);
    CHECK((from_memory || burst.made_as == static_cast<std::uint32_t>(Phase::cold)));
    if (from_memory) CHECK(burst.first >= cached.front().first + cached.front().batches);
  }
}

TEST_CASE("a block from memory lies in turns whose files were asked for, and they are let go of behind it") {
  Job job;
  job.pass = 400;
  job.hold_s = 0.5;
  PhaseSchedule schedule(*job.control, usual_wants(), &job.files);
  std::size_t seen = 0;
  for (int step = 0; step < 1000; ++step) {
    job.run(schedule, 0.1);
    check_held(job, seen);
    const std::uint64_t turn = job.control->phases[0].turns.load();
    for (const Segment& segment : job.published()) {
      const bool is_cold = is(segment, Phase::cold) || segment.made_as == static_cast<std::uint32_t>(Phase::cold);
      if (is_cold && segment.first <= turn && turn < segment.first + segment.batches) {
        CHECK(job.files.state() == FilesAhead::State::idle);  // nothing is read beside it, nor held in memory
      }
    }
  }
  CHECK(seen >= 2);
  CHECK(job.files.released >= 2);
}

TEST_CASE("what cannot be told ahead is asked for as a whole; where that is too much, the reason is kept") {
  Job job;
  job.files.refuses_ahead = "the sampler is of an unknown type";
  PhaseSchedule schedule(*job.control, usual_wants(), &job.files);
  job.run(schedule, 60.0);
  CHECK(job.files.asked_all > 0);
  CHECK_FALSE(job.published(Phase::cached).empty());

  Job large;
  large.files.refuses_ahead = "the sampler is of an unknown type";
  large.files.refuses_all = "the data set is larger than memory";
  PhaseSchedule other(*large.control, usual_wants(), &large.files);
  large.run(other, 60.0);
  CHECK(large.published(Phase::cached).empty());
  CHECK(other.why_not_cached() == "the data set is larger than memory");
  CHECK(other.complete_rounds() >= 3);
}

TEST_CASE("blocks from memory come in passes that they hardly fit into, however long their files take") {
  for (const double takes_s : {0.3, 2.0, 6.0}) {
    for (const std::uint64_t pass : {30U, 46U, 60U, 100U}) {
      Job job;
      job.rate = 5.5;
      job.workers = 1;
      job.pass = pass;
      job.files.takes_s = takes_s;
      PhaseWants wants = usual_wants();
      wants.extras = true;
      PhaseSchedule schedule(*job.control, wants, &job.files);
      job.run(schedule, 115.0);
      CAPTURE(takes_s);
      CAPTURE(pass);
      CHECK(job.published(Phase::cached).size() >= 2);
    }
  }
}

TEST_CASE("maps of files are held as a whole, in the first pass too; where that takes long, for two rounds at once") {
  Job job;
  job.pass = 100'000;
  job.waited = 0.6;
  job.files.takes_s = 20.0;
  job.files.maps = true;
  PhaseSchedule schedule(*job.control, usual_wants(), &job.files);
  job.run(schedule, 70.0);
  CHECK(job.files.asked == 0);
  CHECK(job.files.asked_all >= 1);
  const auto cached = job.published(Phase::cached);
  REQUIRE(cached.size() == 2);
  CHECK(cached[0].round + 1 == cached[1].round);
  const auto cold = job.published(Phase::cold);
  REQUIRE(cold.size() >= 4);
  CHECK(cold[2].round == cached[0].round);  // the rounds that need no files come first
  CHECK(cold[3].round == cached[1].round);
  CHECK(cold[3].first > cached[1].first);
}

TEST_CASE(
    "mapped files whose pages stay in memory have one cold group, and the rest of the budget is for the other states") {
  const auto cold_groups = [](std::uint64_t resident, bool maps) {
    Job job;
    job.pass = 100'000;
    job.waited = 0.6;
    job.files.takes_s = 5.0;
    job.files.maps = maps;
    job.control->cold_map_batches = 20;
    job.control->cold_map_bytes = 20 * 1000;
    job.control->cold_map_resident_bytes = 20 * resident;
    PhaseSchedule schedule(*job.control, usual_wants(), &job.files);
    job.run(schedule, 75.0);
    CHECK(job.published(Phase::cached).size() >= 2);
    CHECK(schedule.why_not_cold() == (resident > 20 && maps ? "30 % of the mapped files stay in memory" : ""));
    return job.published(Phase::cold).size();
  };
  CHECK(cold_groups(300, true) == 1);
  CHECK(cold_groups(20, true) > 2);
  CHECK(cold_groups(300, false) > 2);
}

TEST_CASE("mapped files that take most of the budget to bring in are given up, and cold rounds go on") {
  Job job;
  job.pass = 100'000;
  job.waited = 0.6;
  job.files.takes_s = 200.0;
  job.files.maps = true;
  PhaseSchedule schedule(*job.control, usual_wants(), &job.files);
  job.run(schedule, 118.0);
  CHECK(job.published(Phase::cached).empty());
  CHECK(schedule.why_not_cached() == "bringing all of the mapped files in takes most of what was left of the budget");
  CHECK(job.published(Phase::cold).size() >= 5);
}

TEST_CASE("where nobody knows what comes next, all files are held for blocks from memory, which are longer") {
  Job job;
  job.support = record::PhaseSupport::not_ahead;
  PhaseSchedule schedule(*job.control, usual_wants(), &job.files);
  job.run(schedule, 120.0);
  CHECK_FALSE(job.published(Phase::cold).empty());
  CHECK_FALSE(job.published(Phase::cached).empty());
  CHECK(job.files.asked == 0);
  CHECK(job.files.asked_all > 0);
  for (const Segment& block : job.published(Phase::cold)) CHECK(block.batches >= 4.0 * job.rate);
}

TEST_CASE("of a stream's first pass what its readers have before them is held, and all files from the second on") {
  Job endless;
  endless.support = record::PhaseSupport::not_ahead;
  endless.pass = 0;
  PhaseSchedule schedule(*endless.control, usual_wants(), &endless.files);
  endless.run(schedule, 120.0);
  CHECK(endless.published(Phase::cached).size() >= 3);
  CHECK(endless.files.asked_from_here >= 3);
  CHECK(endless.files.asked + endless.files.asked_all == 0);

  Job two_passes;
  two_passes.support = record::PhaseSupport::not_ahead;
  two_passes.pass = 600;
  PhaseSchedule both(*two_passes.control, usual_wants(), &two_passes.files);
  two_passes.run(both, 120.0);
  CHECK(two_passes.files.asked_from_here > 0);
  CHECK(two_passes.files.asked_all > 0);
  for (const Segment& block : two_passes.published(Phase::cached)) {
    const std::uint64_t last = block.first + block.batches - 1;
    CHECK(block.first / two_passes.pass == last / two_passes.pass);
  }
}

TEST_CASE(
    "a stream whose readers cannot be followed has its blocks from memory in the second pass, with a reason else") {
  for (const bool near_end : {false, true}) {
    for (const std::uint64_t pass : {400U, 0U}) {
      Job job;
      job.support = record::PhaseSupport::not_ahead;
      job.pass = pass;
      job.files.refuses_from_here = near_end ? "" : "pread";
      job.files.near_end_until_ns = near_end ? UINT64_MAX : 0;
      PhaseSchedule schedule(*job.control, usual_wants(), &job.files);
      job.run(schedule, 119.0);
      CAPTURE(near_end);
      CAPTURE(pass);
      CHECK(job.files.asked_from_here <= 1);
      CHECK_FALSE(job.published(Phase::cold).empty());
      CHECK(job.published(Phase::cached).empty() == (pass == 0));
      if (pass != 0) CHECK(job.files.asked_all > 0);
      job.run(schedule, 10.0);
      CHECK(schedule.why_not_cached().empty() == (pass != 0));
    }
  }
}

TEST_CASE("of a stream of more than may be held, what its readers have before them is held in every pass") {
  Job job;
  job.support = record::PhaseSupport::not_ahead;
  job.pass = 300;
  job.files.refuses_all = "more than may be held";
  PhaseSchedule schedule(*job.control, usual_wants(), &job.files);
  job.run(schedule, 120.0);
  CHECK(job.files.asked_all <= 1);
  CHECK(job.files.asked_from_here >= 3);
  CHECK(job.published(Phase::cached).size() >= 3);
  CHECK(schedule.why_not_cached().empty());
}

TEST_CASE("files are asked for as far ahead as the job got the last time they were read") {
  const auto leads = [](double takes_s) {
    Job job;
    job.pass = 100'000;
    job.waited = 0.5;
    job.files.takes_s = takes_s;
    PhaseWants wants = usual_wants();
    wants.budget = Seconds(600.0);
    PhaseSchedule schedule(*job.control, wants, &job.files);
    std::vector<std::uint64_t> found;
    for (int asked = 0; found.size() < 3;) {
      job.run(schedule, 0.1);
      if (job.files.asked > asked) found.push_back(job.files.first - job.control->phases[0].turns.load());
      asked = job.files.asked;
    }
    return found;
  };
  const auto quick = leads(1.0);
  const auto slow = leads(3.0);
  CHECK(quick[0] == slow[0]);  // nobody knows yet
  CHECK(quick[1] < quick[0]);
  // Of 10 turns a second, 30 and not 10 went by; a third more is left for chance.
  CHECK(slow[1] - quick[1] == doctest::Approx(1.3 * 20.0).epsilon(0.1));
  CHECK(slow[2] == doctest::Approx(static_cast<double>(slow[1])).epsilon(0.1));
}

TEST_CASE(
    "where files of a block take long to read in, cold blocks are longer, unless few rounds fit into the budget") {
  const auto last_cold = [](double takes_s, double budget_s) {
    Job job;
    job.pass = 100'000;
    job.waited = 0.5;
    job.found_cold = true;
    job.files.takes_s = takes_s;
    PhaseWants wants = usual_wants();
    wants.budget = Seconds(budget_s);
    PhaseSchedule schedule(*job.control, wants, &job.files);
    job.run(schedule, budget_s);
    const auto cold = job.published(Phase::cold);
    REQUIRE(cold.size() >= 2);
    return cold.back().batches;
  };
  // 10 turns a second: 3 s of them, up to 4 s, and the transients of both.
  CHECK(last_cold(1.0, 600.0) == last_cold(2.0, 600.0));
  CHECK(last_cold(8.0, 600.0) - last_cold(1.0, 600.0) == 40 - 24);
  CHECK(last_cold(30.0, 600.0) == last_cold(8.0, 600.0));
  CHECK(last_cold(20.0, 100.0) == last_cold(1.0, 600.0));
}

}  // namespace
