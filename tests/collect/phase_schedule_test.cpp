/// The schedule of phases against a made-up job: what is published, when, and when it ends.
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

TEST_CASE("nothing is published before the job was watched as found") {
  Job job;
  PhaseSchedule schedule(*job.control, usual_wants());
  job.run(schedule, 2.5);
  CHECK(job.published().empty());
  job.run(schedule, 2.0);
  CHECK_FALSE(job.published().empty());
}

TEST_CASE("segments follow each other without overlap and the round's phases in order") {
  Job job;
  PhaseSchedule schedule(*job.control, usual_wants());
  job.run(schedule, 30.0);
  const std::vector<Segment> segments = job.published();
  REQUIRE(segments.size() > 8);
  for (std::size_t i = 1; i < segments.size(); ++i) {
    CHECK(segments[i].first >= segments[i - 1].first + length_of(segments[i - 1]));
  }
  CHECK(segments[0].phase == static_cast<std::uint32_t>(Phase::cold));
  CHECK(segments[1].phase == static_cast<std::uint32_t>(Phase::cached));
  CHECK(segments[2].phase == static_cast<std::uint32_t>(Phase::synthetic));
  CHECK(segments[3].phase == static_cast<std::uint32_t>(Phase::supply_cached));
  CHECK(segments[0].round == segments[3].round);
  CHECK(segments[4].round == segments[0].round + 1);
}

TEST_CASE("a segment is published before any loader asks for its first index list") {
  Job job;
  PhaseSchedule schedule(*job.control, usual_wants());
  std::size_t seen = 0;
  for (int step = 0; step < 300; ++step) {
    job.run(schedule, 0.1);
    const auto segments = job.published();
    const std::uint64_t turn = job.control->phases[0].turns.load();
    for (; seen < segments.size(); ++seen) {
      if (segments[seen].phase == static_cast<std::uint32_t>(Phase::end)) continue;
      CHECK(segments[seen].first > turn + 4);  // W k = 4 index lists are under way
    }
  }
  CHECK(seen > 4);
}

TEST_CASE("the end is published so that the run keeps to its budget") {
  Job job;
  PhaseWants wants = usual_wants();
  wants.budget = Seconds(30.0);
  PhaseSchedule schedule(*job.control, wants);
  double elapsed = 0.0;
  while (elapsed < 60.0 && !schedule.progress(job.now_ns).ended) {
    job.run(schedule, 0.1);
    elapsed += 0.1;
  }
  const auto segments = job.published();
  REQUIRE(schedule.progress(job.now_ns).ended);
  CHECK(segments.back().phase == static_cast<std::uint32_t>(Phase::end));
  CHECK(static_cast<double>(segments.back().first) / job.rate <= 30.0 + 0.5);
  CHECK(elapsed > 15.0);
}

TEST_CASE("tight estimates end the run, but not before the fewest rounds") {
  Job job;
  job.rate = 100.0;
  PhaseWants wants = usual_wants();
  wants.budget = Seconds(1000.0);
  PhaseSchedule schedule(*job.control, wants);
  schedule.finish();
  double elapsed = 0.0;
  while (elapsed < 300.0 && !schedule.progress(job.now_ns).ended) {
    job.run(schedule, 0.1);
    elapsed += 0.1;
  }
  REQUIRE(schedule.progress(job.now_ns).ended);
  CHECK(schedule.complete_rounds() >= wants.fewest_rounds);
  CHECK(elapsed < 100.0);
}

TEST_CASE("tight estimates do not wait for the further block of a round") {
  Job job;
  PhaseWants wants = usual_wants();
  wants.extras = true;
  wants.budget = Seconds(1000.0);
  PhaseSchedule schedule(*job.control, wants);
  schedule.finish();
  while (schedule.complete_rounds() < wants.fewest_rounds && job.now_ns < 300'000'000'000) job.run(schedule, 0.1);
  const std::uint64_t turn = job.control->phases[0].turns.load();
  job.run(schedule, 0.1);
  REQUIRE(schedule.progress(job.now_ns).ended);
  CHECK(job.published().back().phase == static_cast<std::uint32_t>(Phase::end));
  CHECK(job.published().back().first <= turn + 8);
}

TEST_CASE("two further blocks of a kind come before one of the next: one alone has no interval") {
  const auto kinds = [](std::uint32_t workers) {
    Job job;
    job.workers = workers;
    PhaseWants wants = usual_wants();
    wants.extras = true;
    wants.budget = Seconds(200.0);
    PhaseSchedule schedule(*job.control, wants);
    job.run(schedule, 150.0);
    std::vector<Phase> found;
    std::uint32_t round = UINT32_MAX;  // of the supply block seen last: what follows it is the further one
    for (const Segment& segment : job.published()) {
      if (segment.round == round) found.push_back(static_cast<Phase>(segment.phase));
      if (segment.phase == static_cast<std::uint32_t>(Phase::supply_cached)) round = segment.round;
    }
    return found;
  };
  const std::vector<Phase> two = kinds(2);
  REQUIRE(two.size() >= 4);
  CHECK(two[0] == Phase::cached);  // with fewer workers
  CHECK(two[1] == Phase::cached);
  CHECK(two[2] == Phase::half_cached);
  CHECK(two[3] == Phase::half_cached);
  const std::vector<Phase> one = kinds(1);
  REQUIRE(one.size() >= 3);
  CHECK(one[0] == Phase::half_cached);
  CHECK(one[1] == Phase::half_cached);
  CHECK(one[2] == Phase::perturb_cpu);
}

TEST_CASE("cold supply blocks are run in every round where the job hardly waits for cold data") {
  const auto rounds_with = [](double cold_turns_per_s) {
    Job job;
    PhaseWants wants = usual_wants();
    wants.phases.push_back(Phase::supply_cold);
    wants.budget = Seconds(100.0);
    PhaseSchedule schedule(*job.control, wants);
    job.arm();
    for (int beat = 0; beat < 1000; ++beat) {
      const std::uint64_t turn = job.control->phases[0].turns.load();
      job.rate = 10.0;
      for (const Segment& segment : job.published()) {
        const bool cold = segment.phase == static_cast<std::uint32_t>(Phase::cold);
        if (cold && segment.first <= turn && turn < segment.first + segment.batches) job.rate = cold_turns_per_s;
      }
      job.run(schedule, 0.1);
    }
    std::vector<std::uint32_t> rounds;
    for (const Segment& segment : job.published()) {
      if (segment.phase == static_cast<std::uint32_t>(Phase::supply_cold)) rounds.push_back(segment.round);
    }
    return rounds;
  };
  const auto keeps_up = rounds_with(9.0);
  REQUIRE(keeps_up.size() >= 3);
  CHECK(keeps_up[1] == 1);
  const auto starves = rounds_with(5.0);
  REQUIRE(starves.size() >= 2);
  CHECK(starves[1] == 2);
}

TEST_CASE("batches that come much sooner from memory go over the round's lists several times") {
  const auto played = [](double cached_turns_per_s, std::uint64_t epoch) {
    Job job;
    job.epoch = epoch;
    PhaseSchedule schedule(*job.control, usual_wants());
    job.arm();
    for (int beat = 0; beat < 400; ++beat) {
      const std::uint64_t turn = job.control->phases[0].turns.load();
      job.rate = 10.0;
      for (const Segment& segment : job.published()) {
        const bool cached = segment.phase == static_cast<std::uint32_t>(Phase::cached);
        if (cached && segment.first <= turn && turn < segment.first + segment.batches) job.rate = cached_turns_per_s;
      }
      job.run(schedule, 0.1);
    }
    return job.published();
  };
  const auto longest = [](const std::vector<Segment>& segments, Phase phase) {
    Segment found{};
    for (const Segment& segment : segments) {
      if (segment.phase == static_cast<std::uint32_t>(phase) && segment.batches > found.batches) found = segment;
    }
    return found;
  };
  const auto quick = played(50.0, 0);
  const std::uint32_t lists = longest(quick, Phase::cold).batches;
  const Segment first = *std::find_if(quick.begin(), quick.end(), [](const Segment& segment) {
    return segment.phase == static_cast<std::uint32_t>(Phase::cached);
  });
  CHECK(first.batches == lists);  // nobody knew yet
  CHECK(first.lists == 0);
  const Segment later = longest(quick, Phase::cached);
  CHECK(later.batches > 2 * lists);
  CHECK(later.batches <= 4 * lists);
  CHECK(later.lists == lists);
  CHECK(longest(quick, Phase::supply_cached).lists == lists);
  // It leaves room for the cold one in the same epoch, and one that takes as long as found is no longer.
  CHECK(longest(played(50.0, 140), Phase::cached).batches <= 84 - lists);
  const auto slow = played(10.0, 0);
  CHECK(longest(slow, Phase::cached).batches == longest(slow, Phase::cold).batches);
}

TEST_CASE("a synthetic block may take all of a short epoch") {
  Job job;
  job.epoch = 60;
  job.rate = 6.0;
  PhaseSchedule schedule(*job.control, usual_wants());
  job.arm();
  for (int beat = 0; beat < 600; ++beat) {
    const std::uint64_t turn = job.control->phases[0].turns.load();
    job.rate = 6.0;
    for (const Segment& segment : job.published()) {
      const bool replayed = segment.phase == static_cast<std::uint32_t>(Phase::synthetic);
      if (replayed && segment.first <= turn && turn < segment.first + segment.batches) job.rate = 50.0;
    }
    job.run(schedule, 0.1);
  }
  std::uint64_t longest = 0;
  for (const Segment& segment : job.published()) {
    if (segment.phase != static_cast<std::uint32_t>(Phase::synthetic)) continue;
    CHECK(segment.first / 60 == (segment.first + segment.batches) / 60);
    longest = std::max<std::uint64_t>(longest, segment.batches);
  }
  CHECK(longest > 40);
}

TEST_CASE("several ranks: the slowest counts for progress, the fastest for what is still in time") {
  Job job;
  job.ranks = 4;
  PhaseSchedule schedule(*job.control, usual_wants());
  job.run(schedule, 10.0);
  const auto before = job.published().size();
  job.control->phases[3].turns.store(5);  // one rank hangs
  schedule.step(job.now_ns + k_beat_ns);
  CHECK(job.published().size() >= before);
  CHECK(schedule.complete_rounds() == 0);
}

TEST_CASE("epochs shorter than what must be published ahead still get whole blocks") {
  Job job;
  job.rate = 100.0;
  job.epoch = 24;
  job.workers = 1;
  PhaseSchedule schedule(*job.control, usual_wants());
  job.run(schedule, 20.0);
  const auto segments = job.published();
  REQUIRE(segments.size() > 8);
  for (const Segment& segment : segments) {
    if (length_of(segment) > 0) CHECK(segment.first / 24 == (segment.first + segment.batches) / 24);
  }
}

TEST_CASE("a pass that the script leaves early is as long as what it takes of it") {
  Job job;
  PhaseSchedule schedule(*job.control, usual_wants());
  const std::uint64_t taken = 60;
  double turn = 0.0;
  for (int beat = 0; beat < 600; ++beat) {
    turn += 1.0;
    job.now_ns += k_beat_ns;
    job.put(turn);
    record::PhaseSlot& slot = job.control->phases[0];
    slot.pass_first.store(slot.turns.load() / taken * taken);
    slot.pass_end.store(slot.pass_first.load() + 100);  // what the loader says
    schedule.step(job.now_ns);
  }
  std::uint64_t whole = 0;
  for (const Segment& segment : job.published()) {
    if (length_of(segment) == 0 || segment.first < 2 * taken) continue;
    CHECK(segment.first / taken == (segment.first + segment.batches) / taken);
    ++whole;
  }
  CHECK(whole > 4);
}

TEST_CASE("a stream gets blocks as found and replayed ones, planned anew once its length is known") {
  Job job;
  PhaseSchedule schedule(*job.control, usual_wants());
  record::PhaseSlot& slot = job.control->phases[0];
  slot.support.store(static_cast<std::uint32_t>(record::PhaseSupport::replay_only));
  job.run(schedule, 12.0);
  const auto before = job.published();
  REQUIRE(before.size() > 2);
  job.epoch = 40;  // a pass has ended
  job.run(schedule, 30.0);
  const auto segments = job.published();
  std::uint64_t end = 0;
  for (const auto& segment : segments) {
    CHECK(segment.first >= end);
    end = segment.first + segment.batches;
    const bool known = segment.phase == static_cast<std::uint32_t>(Phase::as_is) ||
                       segment.phase == static_cast<std::uint32_t>(Phase::synthetic);
    CHECK(known);
  }
  CHECK(before[0].phase == static_cast<std::uint32_t>(Phase::as_is));
  CHECK(before[1].phase == static_cast<std::uint32_t>(Phase::synthetic));
  CHECK(before[0].round == before[1].round);
  std::size_t fitting = 0;
  for (std::size_t i = before.size() + 4; i < segments.size(); ++i) {
    CHECK(segments[i].first / 40 == (segments[i].first + segments[i].batches) / 40);
    ++fitting;
  }
  CHECK(fitting > 4);
  CHECK(schedule.obstacle().empty());
}

TEST_CASE("a stream of which nothing is wanted that it has goes on as found until the budget is spent") {
  Job job;
  PhaseWants wants = usual_wants();
  wants.phases = {Phase::cold, Phase::cached};
  wants.budget = Seconds(10.0);
  PhaseSchedule schedule(*job.control, wants);
  job.control->phases[0].support.store(static_cast<std::uint32_t>(record::PhaseSupport::replay_only));
  job.run(schedule, 12.0);
  CHECK(schedule.obstacle().find("stream") != std::string::npos);
  const auto segments = job.published();
  REQUIRE(segments.size() == 1);
  CHECK(segments[0].phase == static_cast<std::uint32_t>(Phase::end));
}

TEST_CASE("cached blocks without cold ones are preceded by one as found, whose files are staged") {
  const auto phases_of = [](std::vector<Phase> wanted) {
    Job job;
    PhaseWants wants;
    wants.phases = std::move(wanted);
    wants.extras = false;
    PhaseSchedule schedule(*job.control, wants);
    job.arm();
    job.run(schedule, 20.0);
    std::vector<Phase> phases;
    for (const Segment& segment : job.published()) phases.push_back(static_cast<Phase>(segment.phase));
    return phases;
  };
  const auto cached = phases_of({Phase::cached});
  REQUIRE(cached.size() >= 4);
  CHECK(cached[0] == Phase::as_is);
  CHECK(cached[1] == Phase::cached);
  CHECK(cached[2] == Phase::as_is);
  CHECK(cached[3] == Phase::cached);
  for (const Phase phase : phases_of({Phase::cold, Phase::cached})) CHECK(phase != Phase::as_is);
  for (const Phase phase : phases_of({Phase::synthetic})) CHECK(phase != Phase::as_is);
}

}  // namespace
