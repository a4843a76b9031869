#include <doctest/doctest.h>

#include <algorithm>

#include "analyzer/analyze.hpp"
#include "tests/analyzer/run_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

TEST_CASE("a job that becomes slower is said to drift, a steady one is not") {
  RunData run = make_recordings(compute_bound());
  CHECK(issue_of(analyze_run(make_run(compute_bound())), "drift") == nullptr);
  std::uint64_t later = 0;
  for (auto& wait : run.processes[0].waits) {
    later += wait.batch * 200'000;  // each step takes 0.2 ms more than the one before it: 0.1 s to 0.14 s
    wait.begin_ns += later;
    wait.end_ns += later;
  }
  join_run(run);
  const Profile profile = analyze_run(run);
  REQUIRE(issue_of(profile, "drift") != nullptr);
  CHECK(issue_of(profile, "drift")->detail.find("slower") != std::string::npos);
}

TEST_CASE("pauses at epoch boundaries are named, with the remedy") {
  JobSpec spec = compute_bound();
  spec.passes = 4;
  spec.batches = 60;
  spec.startup_s = 1.5;
  const Profile profile = analyze_run(make_run(spec));
  REQUIRE(issue_of(profile, "epoch-pauses") != nullptr);
  CHECK(issue_of(profile, "epoch-pauses")->hint.find("persistent_workers") != std::string::npos);
  CHECK(issue_of(profile, "epoch-pauses")->detail.find(" s until") != std::string::npos);
  spec.persistent = true;
  CHECK(issue_of(analyze_run(make_run(spec)), "epoch-pauses") == nullptr);
  // What begins an epoch without workers is its first batch.
  spec.persistent = false;
  spec.loader.workers = 0;
  CHECK(issue_of(analyze_run(make_run(spec)), "epoch-pauses") == nullptr);
}
