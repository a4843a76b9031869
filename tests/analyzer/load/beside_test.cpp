// Processes that a script starts beside its training are no ranks of it.
#include <doctest/doctest.h>

#include <algorithm>

#include "analyzer/analyze.hpp"
#include "tests/analyzer/run_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

namespace {

/// Two consumers, the second started by the first.
RunData parent_and_child() {
  JobSpec spec = fetch_bound();
  spec.ranks = 2;
  RunData run = make_recordings(spec);
  join_run(run);
  REQUIRE(run.consumers.size() == 2);
  for (Consumer& consumer : run.consumers) consumer.rank = -1;
  run.consumers[1].parent_pid = run.consumers[0].pid;
  return run;
}

const DataIssue* beside_issue(const RunData& run) {
  const auto found = std::find_if(run.issues.begin(), run.issues.end(),
                                  [](const DataIssue& issue) { return issue.id == "processes-beside"; });
  return found != run.issues.end() ? &*found : nullptr;
}

std::uint64_t first_step_ns(const Consumer& consumer) {
  return consumer.steps.front().time_ns;
}

}  // namespace

TEST_CASE("what a training starts after its first step is no rank of it") {
  RunData run = parent_and_child();
  const std::int64_t training = run.consumers[0].pid;
  run.consumers[1].born_ns = first_step_ns(run.consumers[0]) + 1;
  leave_out_beside(run);
  REQUIRE(run.consumers.size() == 1);
  CHECK(run.consumers[0].pid == training);
  REQUIRE(beside_issue(run) != nullptr);
  CHECK(beside_issue(run)->count == 1);
}

TEST_CASE("what was started before the first step, or by another, or with a rank of its own, is a rank") {
  RunData before = parent_and_child();
  before.consumers[1].born_ns = first_step_ns(before.consumers[0]) - 1;
  RunData by_another = parent_and_child();
  by_another.consumers[1].born_ns = first_step_ns(by_another.consumers[0]) + 1;
  by_another.consumers[1].parent_pid = 1;
  RunData numbered = parent_and_child();
  numbered.consumers[1].born_ns = first_step_ns(numbered.consumers[0]) + 1;
  numbered.consumers[1].rank = 1;
  RunData next_stage = parent_and_child();  // of a script that has made its own steps by then
  next_stage.consumers[1].born_ns = first_step_ns(next_stage.consumers[0]) + 1;
  next_stage.consumers[0].steps.resize(1);
  for (RunData* run : {&before, &by_another, &numbered, &next_stage}) {
    leave_out_beside(*run);
    CHECK(run->consumers.size() == 2);
    CHECK(beside_issue(*run) == nullptr);
  }
}

TEST_CASE("of two processes with a queue between them the one that steps is the training") {
  for (const std::size_t training : {0U, 1U}) {
    RunData run = parent_and_child();
    run.consumers[1].born_ns = first_step_ns(run.consumers[0]) - 1;
    run.consumers[training].sees_queue = true;
    run.consumers[1 - training].steps.clear();
    const std::int64_t pid = run.consumers[training].pid;
    leave_out_beside(run);
    REQUIRE(run.consumers.size() == 1);
    CHECK(run.consumers[0].pid == pid);
  }
}
