#include <doctest/doctest.h>

#include <algorithm>

#include "analyzer/analyze.hpp"
#include "tests/analyzer/run_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

TEST_CASE("more worker threads than cores are named") {
  JobSpec spec = prep_bound();
  spec.loader.workers = 4;
  spec.cores = 1.0;
  CHECK(issue_of(analyze_run(make_run(spec)), "oversubscribed") != nullptr);
  spec.cores = 2.0;
  CHECK(issue_of(analyze_run(make_run(spec)), "oversubscribed") == nullptr);
}

TEST_CASE("cores that a quota takes away are named") {
  RunData run = make_run(prep_bound());
  run.log.host->usable_cpus = 2.0;
  run.log.host->usable_cpus_limited_by = "cgroup quota";
  const Profile profile = analyze_run(run);
  REQUIRE(issue_of(profile, "cores-limited") != nullptr);
  CHECK(issue_of(profile, "cores-limited")->detail.find("cgroup quota") != std::string::npos);
}
