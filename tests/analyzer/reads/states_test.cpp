/// A run as found whose bytes came from storage first and from memory later: two states, each with its own figures.
#include "analyzer/reads/states.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analyzer/analyze.hpp"
#include "analyzer/steps/job.hpp"
#include "tests/analyzer/run_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

namespace {

/// Epochs of half a minute.
JobSpec job_of(int passes, double read_s) {
  JobSpec spec = fetch_bound();
  spec.passes = passes;
  spec.batches = 150;
  spec.tick_s = 0.5;
  spec.read_s = read_s;
  return spec;
}

void later(std::uint64_t ns, std::uint64_t& time_ns) {
  if (time_ns != 0) time_ns += ns;
}

/// One run: the passes of `second` follow those of `first`, of which nothing more comes from storage.
RunData joined(RunData first, RunData second) {
  Consumer& consumer = first.consumers.front();
  Consumer& more = second.consumers.front();
  const std::uint64_t over_ns =
      std::max(first.log.ticks.back().t_ns, consumer.passes.back().deliveries.back().wait.end_ns) + 1'000'000;
  const std::uint64_t begin_ns =
      std::min(second.log.ticks.front().t_ns, more.passes.front().deliveries.front().wait.begin_ns);
  const std::uint64_t after_ns = over_ns - begin_ns;
  std::int64_t epoch = static_cast<std::int64_t>(consumer.passes.size());
  for (Pass& pass : more.passes) {
    pass.epoch = epoch++;
    pass.iterator_id += 100;
    for (Delivery& delivery : pass.deliveries) {
      for (std::uint64_t* time_ns : {&delivery.wait.begin_ns, &delivery.wait.end_ns, &delivery.made.begin_ns,
                                     &delivery.made.end_ns, &delivery.made.put_ns}) {
        later(after_ns, *time_ns);
      }
    }
    consumer.passes.push_back(pass);
  }
  for (record::StepRecord& step : more.steps) {
    later(after_ns, step.time_ns);
    consumer.steps.push_back(step);
  }
  const Tick last = first.log.ticks.back();
  for (Tick tick : second.log.ticks) {
    tick.t_ns += after_ns;
    tick.tree_read_bytes = last.tree_read_bytes;
    tick.tree_cpu_ns += last.tree_cpu_ns;
    for (std::size_t i = 0; i < tick.ranks.size(); ++i) {
      tick.ranks[i].samples += last.ranks[i].samples;
      tick.ranks[i].batches += last.ranks[i].batches;
    }
    first.log.ticks.push_back(std::move(tick));
  }
  return first;
}

const Premise* premise_of(const Profile& profile, const std::string& phase) {
  const auto found = std::find_if(profile.premises.begin(), profile.premises.end(),
                                  [&](const Premise& premise) { return premise.phase == phase; });
  return found != profile.premises.end() ? &*found : nullptr;
}

}  // namespace

TEST_CASE("a first epoch from storage and later ones from memory are two states, and the last is the job as found") {
  const Profile slow = analyze_run(make_run(job_of(1, 0.3)));
  const Profile fast = analyze_run(make_run(job_of(3, 0.02)));
  const Profile profile = analyze_run(joined(make_run(job_of(1, 0.3)), make_run(job_of(3, 0.02))));
  REQUIRE(slow.rates.as_is->mean < 0.7 * fast.rates.as_is->mean);
  REQUIRE(profile.states.size() == 2);
  CHECK(profile.states[0].first_epoch == 1);
  CHECK(profile.states[0].last_epoch == 1);
  CHECK(profile.states[1].first_epoch == 2);
  CHECK(profile.states[1].last_epoch == 4);
  CHECK(*profile.states[0].from_storage > 0.95);
  CHECK(*profile.states[1].from_storage < 0.02);
  CAPTURE(profile.states[0].rate->mean.value());
  CAPTURE(slow.rates.as_is->mean.value());
  CHECK(near(profile.states[0].rate->mean.value(), slow.rates.as_is->mean.value(), 0.03));
  CHECK(near(profile.states[1].rate->mean.value(), fast.rates.as_is->mean.value(), 0.03));
  CHECK(profile.rates.as_is->mean.value() == profile.states[1].rate->mean.value());
  REQUIRE(profile.rates.cold);
  CHECK(profile.rates.cold->mean.value() == profile.states[0].rate->mean.value());
  REQUIRE(premise_of(profile, "cold") != nullptr);
  CHECK(premise_of(profile, "cold")->holds);
  CHECK(premise_of(profile, "cold")->seen.find("in epoch 1") != std::string::npos);
  CHECK(issue_of(profile, "drift") == nullptr);
}

/// Two epochs of 10 ms a sample, then three of 1 ms; nothing comes from storage.
RunData kept_run() {
  JobSpec first = job_of(2, 0.0);
  first.storage_share = 0.0;
  first.cpu_s = 0.32;
  JobSpec then = first;
  then.passes = 3;
  then.cpu_s = 0.032;
  return joined(make_run(first), make_run(then));
}

TEST_CASE("epochs whose samples took another time to make are two states, and the last is the job as found") {
  const Profile profile = analyze_run(kept_run());
  REQUIRE(profile.states.size() == 2);
  CHECK(profile.states[0].last_epoch == 2);
  CHECK(profile.states[1].first_epoch == 3);
  CHECK(near(profile.states[0].making->value(), 0.01, 0.05));
  CHECK(near(profile.states[1].making->value(), 0.001, 0.1));
  CHECK(profile.states[0].rate->mean.value() < 0.7 * profile.states[1].rate->mean.value());
  CHECK(profile.rates.as_is->mean.value() == profile.states[1].rate->mean.value());
  const DataIssue* changed = issue_of(profile, "making-changed");
  REQUIRE(changed != nullptr);
  CHECK(changed->detail.find("in epochs 1 to 2, ") != std::string::npos);
  CHECK(changed->detail.find("in epochs 3 to 5, its reads apart: the data set seems to keep") != std::string::npos);
  CHECK(changed->hint.find("what is told is of epochs 3 to 5 alone") == 0);
  CHECK(issue_of(profile, "drift") == nullptr);
}

TEST_CASE("where only the first epochs were seen as found, it is said that making changed afterwards") {
  RunData run = kept_run();
  Consumer& consumer = run.consumers.front();
  consumer.phases_begin_ns = consumer.passes[2].deliveries.front().wait.begin_ns;
  const Profile profile = analyze_run(run);
  CHECK(profile.states.empty());
  const DataIssue* changed = issue_of(profile, "making-changed");
  REQUIRE(changed != nullptr);
  CHECK(changed->severity == Severity::warning);
  CHECK(changed->hint.find("what is told as found is not of those epochs alone") == 0);
}

TEST_CASE("a run that was one state all along has no states, nor has one whose cache comes and goes") {
  CHECK(analyze_run(make_run(job_of(3, 0.3))).states.empty());
  RunData flapping = make_run(job_of(1, 0.3));
  for (int i = 0; i < 2; ++i) {
    flapping = joined(std::move(flapping), make_run(job_of(1, 0.02)));
    RunData stored = make_run(job_of(1, 0.3));
    const std::int64_t before = flapping.log.ticks.back().tree_read_bytes;
    const std::size_t ticks = flapping.log.ticks.size();
    flapping = joined(std::move(flapping), stored);
    for (std::size_t k = 0; k < stored.log.ticks.size(); ++k) {
      flapping.log.ticks[ticks + k].tree_read_bytes = before + stored.log.ticks[k].tree_read_bytes;
    }
  }
  CHECK(analyze_run(flapping).states.empty());
}
