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

bool is(const Segment& segment, Phase phase) {
  return segment.phase == static_cast<std::uint32_t>(phase);
}

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
    const auto cached = job.published(Phase::cached);
    for (; seen < cached.size(); ++seen) {
      CHECK(job.files.state() == FilesAhead::State::held);
      CHECK(cached[seen].first >= job.files.first);
      CHECK(cached[seen].first + cached[seen].batches <= job.files.end);
    }
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
  job.run(schedule, 75.0);
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

TEST_CASE("slow cold batches make cold blocks shorter") {
  Job job;
  job.rate = 40.0;
  job.cold_rate = 8.0;
  job.pass = 1000;
  PhaseSchedule schedule(*job.control, usual_wants(), &job.files);
  job.run(schedule, 60.0);
  const auto cold = job.published(Phase::cold);
  REQUIRE(cold.size() >= 3);
  CHECK(cold.back().batches < cold.front().batches);
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
