/// Waiting for cores that even sharing within the job does not explain: who was it?
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "analyzer/analyze.hpp"
#include "analyzer/resources/other_load.hpp"
#include "analyzer/steps/rank_view.hpp"
#include "tests/analyzer/run_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

namespace {

constexpr double k_waited_s = 0.15;  // for a core, in each batch of 0.67 s

RunData run_that_waits_for_cores() {
  JobSpec spec = prep_bound();
  spec.other_s = k_waited_s;
  RunData run = make_recordings(spec);
  for (record::ProcessRecording& process : run.processes) {
    for (record::BatchRecord& batch : process.batches) {
      batch.run_delay_ns = static_cast<std::uint64_t>(std::llround(k_waited_s * 1e9));
    }
  }
  run.log.host->usable_cpus = 4.0;
  join_run(run);
  return run;
}

/// Four CPUs, of which others used so many.
void let_others_use(RunData& run, double cores) {
  for (Tick& tick : run.log.ticks) {
    const auto passed = static_cast<double>(tick.t_ns - k_start_ns);
    tick.machine_cpus = 4;
    tick.tool_cpu_ns = static_cast<std::int64_t>(0.01 * passed);
    tick.machine_idle_ns = static_cast<std::int64_t>((4.0 - cores - 0.01) * passed) - tick.tree_cpu_ns + 77'000'000'000;
  }
}

std::string said(const Profile& profile, const std::string& id) {
  for (const DataIssue& issue : profile.issues) {
    if (issue.id == id) return issue.detail + "; " + issue.hint;
  }
  return {};
}

bool has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("what is neither idle nor the job's nor the tool's is others'") {
  RunData run = run_that_waits_for_cores();
  for (const double cores : {0.0, 0.5, 2.25}) {
    let_others_use(run, cores);
    const Profile profile = analyze_run(run);
    REQUIRE(profile.resources.other_cpus.has_value());
    CHECK(*profile.resources.other_cpus == doctest::Approx(cores).epsilon(0.001));
  }
}

TEST_CASE("others' use is not known without the CPUs' counts, for a moment, or where recordings see each other") {
  RunData run = run_that_waits_for_cores();
  CHECK(has(analyze_run(run).resources.other_cpus.reason(), "was not recorded"));
  let_others_use(run, 0.5);
  const std::vector<sections::Launch> twice(2, sections::Launch{&run, {}});
  CHECK(sections::other_cpus({twice.data(), 1}).has_value());
  CHECK(has(sections::other_cpus(twice).reason(), "several recordings of one machine"));
  for (Consumer& consumer : run.consumers) consumer.phases_begin_ns = k_start_ns + 2'000'000'000;
  CHECK(has(sections::other_cpus({twice.data(), 1}).reason(), "the job ran as found for too short a time"));
}

TEST_CASE("the job's cores are its CPU time by wall time, however few of its samples the steps tell of") {
  RunData run = run_that_waits_for_cores();
  for (Tick& tick : run.log.ticks) {
    tick.tree_cpu_ns = static_cast<std::int64_t>(1.7 * static_cast<double>(tick.t_ns - k_start_ns)) + 5'000'000'000;
  }
  Profile profile = analyze_run(run);
  REQUIRE(profile.resources.job_cpus.has_value());
  CHECK(*profile.resources.job_cpus == doctest::Approx(1.7).epsilon(0.001));
  const std::vector<sections::Launch> twice(2, sections::Launch{&run, {}});
  CHECK(*sections::job_cpus(twice) == doctest::Approx(3.4).epsilon(0.001));
  for (Consumer& consumer : run.consumers) consumer.phases_begin_ns = k_start_ns + 2'000'000'000;
  CHECK(has(sections::job_cpus(twice).reason(), "the job ran as found for too short a time"));
  for (Tick& tick : run.log.ticks) tick.tree_cpu_ns = -1;
  CHECK(has(sections::job_cpus(twice).reason(), "the CPU times of the job's processes were not recorded"));
}

TEST_CASE("others are blamed where they ran, and with what they used") {
  RunData run = run_that_waits_for_cores();
  CHECK(has(said(analyze_run(run), "other-load"), "probably for other processes: what these used was not counted"));
  let_others_use(run, 1.5);
  const Profile loaded = analyze_run(run);
  CHECK(has(said(loaded, "other-load"), "used 1.5 of its 4 cores and kept the workers from its cores for 22 %"));
  CHECK(said(loaded, "uneven-cores").empty());
  let_others_use(run, 0.1);
  const Profile alone = analyze_run(run);
  CHECK(said(alone, "other-load").empty());
  CHECK(has(said(alone, "uneven-cores"), "for 22 % of their time longer than even sharing"));
  CHECK(has(said(alone, "uneven-cores"), "used 0.1 of its 4 cores"));
}

}  // namespace
