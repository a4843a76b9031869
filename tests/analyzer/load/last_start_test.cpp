// Elastic restarts: the last start counts, whatever was started anew and how often it was counted.
#include <doctest/doctest.h>

#include <algorithm>

#include "analyzer/analyze.hpp"
#include "tests/analyzer/run_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

namespace {

constexpr std::uint64_t k_later_ns = 500'000'000'000ULL;
constexpr std::int32_t k_other_pids = 500;

/// `process` as one that was started later, with other pids.
record::ProcessRecording later(record::ProcessRecording process) {
  process.info.pid += k_other_pids;
  process.info.start_monotonic_ns += k_later_ns;
  for (auto& wait : process.waits) {
    wait.begin_ns += k_later_ns;
    wait.end_ns += k_later_ns;
  }
  for (auto& step : process.steps) step.time_ns += k_later_ns;
  process.batches.clear();
  return process;
}

/// Two ranks that an agent started, and again with fewer batches.
RunData restarted(std::uint32_t counted, bool elastic = true) {
  JobSpec spec = fetch_bound();
  spec.ranks = 2;
  RunData run = make_recordings(spec);
  spec.batches = 80;
  for (auto& process : make_recordings(spec).processes) {
    run.processes.push_back(later(process));
    run.processes.back().info.restart = counted;
  }
  for (auto& process : run.processes) process.info.elastic = elastic;
  join_run(run);
  keep_last_start(run);
  return run;
}

const DataIssue* issue_of(const RunData& run) {
  const auto found = std::find_if(run.issues.begin(), run.issues.end(),
                                  [](const DataIssue& issue) { return issue.id == "elastic-restart"; });
  return found != run.issues.end() ? &*found : nullptr;
}

}  // namespace

TEST_CASE("the last start of an elastic job counts, and the earlier ones are named") {
  // The second is a node whose own ranks were well: its agent starts them anew and does not count it.
  for (const std::uint32_t counted : {1U, 0U}) {
    const RunData run = restarted(counted);
    REQUIRE(run.consumers.size() == 2);
    for (const Consumer& consumer : run.consumers) CHECK(consumer.passes.at(0).deliveries.size() == 80);
    REQUIRE(issue_of(run) != nullptr);
    CHECK(issue_of(run)->count == 2);
    CHECK(issue_of(run)->detail.find("rank 1 of start 1 (200 batches)") != std::string::npos);
    const Profile profile = analyze_run(run);
    CHECK(profile.job.ranks_seen == 2);
    CHECK(profile.ranks.at(0).batches == 80);
  }
}

TEST_CASE("without an agent the one that took most counts, as ever") {
  const RunData run = restarted(0, false);
  CHECK(run.consumers.size() == 4);
  CHECK(issue_of(run) == nullptr);
  CHECK(analyze_run(run).ranks.at(0).batches == 200);
}

TEST_CASE("what a rank starts when it has trained is no restart of it") {
  JobSpec spec = fetch_bound();
  RunData run = make_recordings(spec);
  spec.batches = 80;
  auto test = later(make_recordings(spec).processes.front());
  test.info.parent_pid = run.processes.front().info.pid;
  run.processes.push_back(test);
  for (auto& process : run.processes) process.info.elastic = true;
  join_run(run);
  keep_last_start(run);
  CHECK(run.consumers.size() == 2);
  CHECK(issue_of(run) == nullptr);
}
