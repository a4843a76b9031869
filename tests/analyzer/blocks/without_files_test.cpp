/// Measured runs of jobs whose samples are made of no file.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "analyzer/analyze.hpp"
#include "analyzer/load/no_files.hpp"
#include "analyzer/steps/job.hpp"
#include "tests/analyzer/phased_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

namespace {

/// The same job as if its samples lay in memory.
RunData without_files(RunData run) {
  for (record::ProcessRecording& process : run.processes) {
    for (record::PhaseRecord& phase : process.phases) {
      phase.opens = phase.unknown_opens = 0;
      phase.opened_bytes = phase.resident_bytes = phase.evicted_bytes = phase.storage_bytes = phase.page_bytes = 0;
    }
  }
  const auto& deliveries = run.consumers.front().passes.front().deliveries;
  run.log.ticks.resize(2);
  run.log.ticks.front().t_ns = run.consumers.front().phases_begin_ns;
  run.log.ticks.back().t_ns = deliveries.back().wait.end_ns;
  for (Tick& tick : run.log.ticks) tick.tree_read_bytes = 1'000'000;
  for (Consumer& consumer : run.consumers) {
    for (Pass& pass : consumer.passes) {
      for (Delivery& delivery : pass.deliveries) delivery.made.io = {};
    }
    consumer.without_files = reads_no_file(run, consumer);
  }
  return run;
}

/// Steps of 100 ms against makings of 0.3 s in two workers.
PhasedSpec job_in_memory() {
  PhasedSpec spec;
  spec.job.read_s = spec.job.read_cv = spec.job.cpu_cv = spec.job.step_cv = 0.0;
  spec.job.cpu_s = 0.3;
  return spec;
}

}  // namespace

TEST_CASE("where samples are made of no file, what was to be cold counts as cached, and the step divides by that") {
  const PhasedSpec spec = job_in_memory();
  const PhasedTruth truth = truth_of(spec);
  const Profile profile = analyze_run(without_files(make_phased_run(spec)));
  REQUIRE(profile.rates.cached);
  CHECK(near(profile.rates.cached->mean.value(), spec.job.batch_size / truth.cached_s, 0.03));
  CHECK(profile.rates.as_is->mean.value() == doctest::Approx(profile.rates.cached->mean.value()));
  CHECK(profile.rates.supply_cached);
  CHECK_FALSE(profile.rates.cold);
  CHECK(profile.rates.cold.reason() == "its samples are made of no file");
  CHECK(profile.stalls.fetch.reason() == "its samples are made of no file");
  REQUIRE(profile.stalls.as_is_prep);
  CHECK(std::abs(profile.stalls.as_is_prep->mean - truth.prep()) < 0.03);
  CHECK(profile.stalls.as_is_fetch->mean == 0.0);
  const auto premise = std::find_if(profile.premises.begin(), profile.premises.end(),
                                    [](const Premise& p) { return p.phase == "cached"; });
  REQUIRE(premise != profile.premises.end());
  CHECK(premise->holds);
  CHECK(premise->seen.find("0 bytes read for a sample") == 0);
  CHECK(issue_of(profile, "no-cached-blocks") == nullptr);
}

TEST_CASE("the rate as found of such a job is that of all its steps, unless its blocks contradict them") {
  PhasedSpec spec = job_in_memory();
  spec.job.cpu_cv = 0.2;
  RunData run = without_files(make_phased_run(spec));
  for (const char* id : {"no-cached-blocks", "no-cold-blocks"}) run.issues.push_back({id, Severity::info, 1, "", ""});
  const Profile profile = analyze_run(run);
  REQUIRE(profile.rates.as_is);
  REQUIRE(profile.rates.cached);
  CHECK(profile.rates.as_is->n > profile.rates.cached->n);  // steps, not rounds
  CHECK(near(profile.rates.as_is->mean.value(), profile.rates.cached->mean.value(), 0.1));
  CHECK(issue_of(profile, "no-cached-blocks") == nullptr);
  CHECK(issue_of(profile, "no-cold-blocks") == nullptr);
}

TEST_CASE("what a process that makes its own batches had read before the phases began is not what they are made of") {
  RunData run = without_files(make_phased_run(job_in_memory()));
  Consumer& consumer = run.consumers.front();
  for (Delivery& delivery : consumer.passes.front().deliveries) delivery.made.header.aux = UINT32_MAX;
  record::ProcessRecording& trainer = run.processes.front();
  trainer.info.pid = static_cast<std::int32_t>(consumer.pid);
  trainer.info.other_read_bytes = 60'000'000;  // modules
  CHECK_FALSE(reads_no_file(run, consumer));   // nobody knows when
  std::vector<Tick>& ticks = run.log.ticks;
  for (Tick& tick : ticks) tick.processes = {{.pid = consumer.pid, .rchar = 65'000'000}};
  CHECK(reads_no_file(run, consumer));
  SUBCASE("it reads beside them") {
    ticks.back().processes.front().rchar += 20'000'000;
  }
  SUBCASE("another process does") {
    ticks.back().processes.push_back({.pid = consumer.pid + 50, .rchar = 20'000'000});
  }
  SUBCASE("what it had read by then is not known") {
    ticks.front().processes.clear();
  }
  SUBCASE("it receives them") {
    trainer.info.stream_read_bytes = 20'000'000;
  }
  CHECK_FALSE(reads_no_file(run, consumer));
}

TEST_CASE("a job that reads in a way that its batches do not show is none without files") {
  RunData run = make_phased_run(job_in_memory());
  Consumer& consumer = run.consumers.front();
  CHECK_FALSE(reads_no_file(run, consumer));
  run = without_files(std::move(run));
  REQUIRE(reads_no_file(run, run.consumers.front()));
  SUBCASE("by a process of its own") {
    run.log.ticks.back().tree_read_bytes += 100'000'000;
  }
  SUBCASE("through maps") {
    run.processes.back().mapped.emplace_back();
  }
  SUBCASE("over the network") {
    for (Delivery& delivery : run.consumers.front().passes.front().deliveries) delivery.received_bytes = 1'000'000;
  }
  SUBCASE("nobody knows how its batches are made") {
    for (Delivery& delivery : run.consumers.front().passes.front().deliveries) delivery.made_known = false;
  }
  SUBCASE("nobody knows what came from storage") {
    for (Tick& tick : run.log.ticks) tick.tree_read_bytes = -1;
  }
  SUBCASE("it was only recorded") {
    run.consumers.front().phases_begin_ns = UINT64_MAX;
  }
  CHECK_FALSE(reads_no_file(run, run.consumers.front()));
}
