#include "analyzer/load/trained_on.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "analyzer/steps/steady.hpp"
#include "tests/analyzer/run_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

namespace {

JobSpec four_passes() {
  JobSpec spec = compute_bound();
  spec.loader.workers = 0;
  spec.passes = 4;
  spec.batches = 60;
  return spec;
}

/// When each pass begins, and a time beyond all.
std::vector<std::uint64_t> begins_of(const RunData& run) {
  RunData joined = run;
  join_run(joined);
  std::vector<std::uint64_t> begins;
  for (const Pass& pass : joined.consumers.at(0).passes) begins.push_back(pass.deliveries.front().wait.end_ns);
  begins.push_back(UINT64_MAX);
  return begins;
}

/// The run without the steps of some passes.
RunData without_steps(RunData run, const std::set<std::size_t>& passes) {
  const std::vector<std::uint64_t> begins = begins_of(run);
  auto& steps = run.processes.at(0).steps;
  for (const std::size_t pass : passes) {
    std::erase_if(steps, [&](const record::StepRecord& step) {
      return step.time_ns >= begins[pass] && step.time_ns < begins[pass + 1];
    });
  }
  join_run(run);
  return run;
}

std::vector<bool> evaluations_of(const RunData& run) {
  std::vector<bool> found;
  for (const Pass& pass : run.consumers.at(0).passes) found.push_back(pass.is_evaluation);
  return found;
}

}  // namespace

TEST_CASE("passes without a step are evaluations, where those alike have steps") {
  for (const int accumulate : {1, 4}) {
    CAPTURE(accumulate);
    JobSpec spec = four_passes();
    spec.accumulate = accumulate;
    const RunData run = without_steps(make_recordings(spec), {1, 3});
    CHECK(evaluations_of(run) == std::vector<bool>{false, true, false, true});
    const SteadyWindow window = steady_window(run.consumers[0]);
    CHECK(window.loaders_seen == 1);
    CHECK(window.deliveries == 120);
    CHECK(window.passes.size() == 2);
    CHECK(window.optimizer_steps_per_batch == doctest::Approx(1.0 / accumulate));
  }
}

TEST_CASE("where no pass has a step none is an evaluation") {
  const RunData run = without_steps(make_recordings(four_passes()), {0, 1, 2, 3});
  CHECK(evaluations_of(run) == std::vector<bool>(4, false));
}

TEST_CASE("a single batch without a step tells no evaluation") {
  JobSpec spec = four_passes();
  spec.batches = 1;
  CHECK(evaluations_of(without_steps(make_recordings(spec), {1})) == std::vector<bool>(4, false));
  spec.batches = 2;
  CHECK(evaluations_of(without_steps(make_recordings(spec), {1})) == std::vector<bool>{false, true, false, false});
}

TEST_CASE("steps that end long before their pass go unseen: a graph of them is replayed") {
  RunData run = make_recordings(four_passes());
  auto& steps = run.processes.at(0).steps;
  std::sort(steps.begin(), steps.end(), [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  steps.resize(10);
  join_run(run);
  CHECK(evaluations_of(run) == std::vector<bool>(4, false));
}

TEST_CASE("batches that are kept and trained on later are no evaluation") {
  RunData run = make_recordings(four_passes());
  auto& steps = run.processes.at(0).steps;
  const std::vector<std::uint64_t> begins = begins_of(run);
  std::erase_if(steps, [&](const record::StepRecord& step) { return step.time_ns < begins[3]; });
  const std::uint64_t end_ns = run.processes.at(0).waits.back().end_ns + ns(10.0);
  CHECK(evaluations_of(without_steps(run, {})) == std::vector<bool>{true, true, true, false});
  for (std::uint64_t i = 0; i < 200; ++i) steps.push_back({steps.front().header, 1000 + i, end_ns + i});
  CHECK(evaluations_of(without_steps(run, {})) == std::vector<bool>(4, false));
}
