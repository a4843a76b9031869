#include "analyzer/steps/steady.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/analyzer/run_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

namespace {

SteadyWindow window_of(const RunData& run) {
  REQUIRE(run.consumers.size() == 1);
  return steady_window(run.consumers[0]);
}

std::uint64_t first_batch(const SteadyWindow& window) {
  return window.steps.front().delivery->wait.batch;
}

std::uint64_t last_batch(const SteadyWindow& window) {
  return window.steps.back().delivery->wait.batch;
}

}  // namespace

TEST_CASE("the queue's start-up and the draining end are left out") {
  for (const int workers : {1, 2, 4}) {
    JobSpec spec = fetch_bound();
    spec.loader.workers = workers;
    const RunData run = make_run(spec);
    const SteadyWindow window = window_of(run);
    const auto in_flight = static_cast<std::uint64_t>(2 * workers);
    const std::uint64_t part_of_turn = (200 - 2 * in_flight - 2) % static_cast<std::uint64_t>(workers);
    CHECK(first_batch(window) == in_flight + part_of_turn);
    CHECK(last_batch(window) == 199 - in_flight - 2);
    CHECK(window.steps.size() == 200 - 2 * in_flight - 2 - part_of_turn);
    CHECK(window.deliveries == 200);
    CHECK(window.loaders_seen == 1);
    CHECK(window.warm_up_steps == 0);
  }
}

TEST_CASE("of workers that take turns whole turns count, as bunches come in them") {
  for (const int batches : {60, 61, 62, 63}) {
    CAPTURE(batches);
    JobSpec spec = fetch_bound();
    spec.loader.workers = 4;
    spec.batches = batches;
    const RunData run = make_run(spec);
    const SteadyWindow window = window_of(run);
    CHECK(window.steps.size() == (static_cast<std::size_t>(batches) - 18) / 4 * 4);
    CHECK(last_batch(window) == static_cast<std::uint64_t>(batches) - 11);
  }
}

TEST_CASE("without workers only the first batch is left out") {
  JobSpec spec = fetch_bound();
  spec.loader.workers = 0;
  const RunData run = make_run(spec);
  const SteadyWindow window = window_of(run);
  CHECK(first_batch(window) == 1);
  CHECK(window.steps.size() == 199);
}

TEST_CASE("a pass that is too short for its queue still gives its middle half") {
  JobSpec spec = fetch_bound();
  spec.loader = {4, 4, true};
  spec.batches = 20;
  const RunData run = make_run(spec);
  const SteadyWindow window = window_of(run);
  CHECK(first_batch(window) == 5);
  CHECK(last_batch(window) == 14);
}

TEST_CASE("steps are the computing after one delivery and the wait for the next") {
  JobSpec spec = fetch_bound();
  spec.host_s = 0.03;
  const RunData run = make_run(spec);
  const SteadyWindow window = window_of(run);
  double compute = 0.0;
  double cpu = 0.0;
  for (const SteadyStep& step : window.steps) {
    CHECK(near(step.step_s(), static_cast<double>(step.end_ns - step.begin_ns) * 1e-9, 1e-6));
    CHECK(step.samples == 32.0);
    compute += step.compute_s / static_cast<double>(window.steps.size());
    cpu += step.consumer_cpu_s / static_cast<double>(window.steps.size());
  }
  CHECK(near(compute, 0.13, 0.02));
  CHECK(near(cpu, 0.03, 0.02));
}

TEST_CASE("steps across a stretch without recording are left out") {
  JobSpec spec = prep_bound();
  spec.off = {{10.0, 11.0}, {20.0, 23.0}};
  const RunData run = make_run(spec);
  const SteadyWindow window = window_of(run);
  for (const SteadyStep& step : window.steps) {
    CHECK(step.step_s() < 1.0);
    for (const Off& off : spec.off) {
      const double begin = static_cast<double>(step.begin_ns - k_start_ns) * 1e-9;
      const double end = static_cast<double>(step.end_ns - k_start_ns) * 1e-9;
      CHECK_FALSE((begin < off.from_s && end > off.to_s));
    }
  }
  CHECK(window.steps.size() > 150);
}

TEST_CASE("steps that an evaluation interrupted are left out and counted") {
  JobSpec spec = compute_bound();
  spec.evaluate_every = 25;
  const RunData run = make_run(spec);
  const SteadyWindow window = window_of(run);
  CHECK(window.loader.dataset_type == "TrainSet");
  CHECK(window.loaders_seen == 2);
  CHECK(window.interrupted_steps == 7);
  for (const SteadyStep& step : window.steps) CHECK(step.step_s() < 0.25);  // an evaluation takes 0.25
}

TEST_CASE("the training loader is the one that optimizer steps fall into, however much is evaluated") {
  JobSpec spec = compute_bound();
  spec.evaluate_every = 10;
  spec.evaluation_batches = 40;
  const RunData run = make_run(spec);
  CHECK(window_of(run).loader.dataset_type == "TrainSet");
}

TEST_CASE("without an optimizer the training loader is the one that delivered most") {
  JobSpec spec = compute_bound();
  spec.accumulate = 0;
  spec.evaluate_every = 50;
  const RunData run = make_run(spec);
  const SteadyWindow window = window_of(run);
  CHECK(window.loader.dataset_type == "TrainSet");
  CHECK(window.optimizer_steps_per_batch == 0.0);
}

TEST_CASE("loaders that differ only in how much data they have are two loaders") {
  RunData run = make_recordings([] {
    JobSpec spec = compute_bound();
    spec.evaluate_every = 20;
    spec.loader.workers = 0;
    return spec;
  }());
  for (auto& text : run.processes.at(0).texts) {
    if (text.kind != record::TextKind::loader) continue;
    for (const auto& [from, to] : {std::pair<std::string, std::string>{"EvaluationSet", "Subset"},
                                   {"TrainSet", "Subset"},
                                   {"\"shuffled\":true", "\"shuffled\":false"}}) {
      if (const auto at = text.json.find(from); at != std::string::npos) text.json.replace(at, from.size(), to);
    }
    const bool evaluation = text.json.find("\"loader_id\":2") != std::string::npos;
    const auto at = text.json.find("\"dataset_samples\":6400");
    if (evaluation && at != std::string::npos) text.json.replace(at, 22, "\"dataset_samples\":160");
  }
  join_run(run);
  const SteadyWindow window = window_of(run);
  CHECK(window.loaders_seen == 2);
  CHECK(window.loader.dataset_samples == 6400);
  CHECK(window.deliveries == 200);
}

TEST_CASE("passes over loaders that are made anew each epoch are one loader") {
  RunData run = make_recordings([] {
    JobSpec spec = compute_bound();
    spec.passes = 3;
    return spec;
  }());
  auto& texts = run.processes.at(0).texts;
  const auto loader =
      *std::find_if(texts.begin(), texts.end(), [](const auto& text) { return text.kind == record::TextKind::loader; });
  int made = 1;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].kind != record::TextKind::iterator || made++ == 1) continue;
    auto again = loader;
    const std::string id = std::to_string(made);
    again.json.replace(again.json.find("\"loader_id\":1"), 13, "\"loader_id\":" + id);
    texts[i].json.replace(texts[i].json.find("\"loader_id\":1"), 13, "\"loader_id\":" + id);
    texts.push_back(again);
  }
  join_run(run);
  const SteadyWindow window = window_of(run);
  CHECK(window.loaders_seen == 1);
  CHECK(window.deliveries == 600);
  CHECK(window.pauses_s.size() == 3);
}

TEST_CASE("slow first steps are warm-up") {
  RunData run = make_recordings(compute_bound());
  for (auto& wait : run.processes.at(0).waits) {
    // The first eight steps take 0.2 s more: everything after the n-th delivery moves by 0.2 n s, up to eight times.
    const std::uint64_t later = std::min<std::uint64_t>(wait.batch, 8) * 200'000'000ULL;
    wait.begin_ns += later;
    wait.end_ns += later;
  }
  join_run(run);
  const SteadyWindow window = window_of(run);
  CHECK(window.warm_up_steps == 5);  // steps 4 to 8: the lead took the others
  for (const SteadyStep& step : window.steps) CHECK(step.step_s() < 0.2);
}

TEST_CASE("gradient accumulation is counted, in short passes too") {
  for (const int accumulate : {1, 2, 4}) {
    for (const int batches : {8, 12, 40, 200}) {
      CAPTURE(accumulate);
      CAPTURE(batches);
      JobSpec spec = compute_bound();
      spec.loader.workers = 1;
      spec.accumulate = accumulate;
      spec.batches = batches;
      spec.passes = 3;
      const RunData run = make_run(spec);
      CHECK(near(1.0 / window_of(run).optimizer_steps_per_batch, accumulate, 0.01));
    }
  }
}

TEST_CASE("the pause before the first batch of each pass is kept") {
  JobSpec spec = compute_bound();
  spec.passes = 3;
  spec.startup_s = 2.0;
  const RunData run = make_run(spec);
  const SteadyWindow window = window_of(run);
  REQUIRE(window.pauses_s.size() == 3);
  for (const double wait : window.pauses_s) CHECK(wait > 2.0);
  spec.persistent = true;
  const RunData persistent = make_run(spec);
  const SteadyWindow shorter = window_of(persistent);
  REQUIRE(shorter.pauses_s.size() == 3);
  CHECK(shorter.pauses_s[1] < 0.5);
  // Making the iterator counts as well; a pass that begins when phases are run does not.
  RunData phased = make_run(spec);
  phased.consumers.at(0).passes.at(1).made_ns = 700'000'000;
  CHECK(near(window_of(phased).pauses_s.at(1), shorter.pauses_s[1] + 0.7, 1e-6));
  phased.consumers.at(0).phases_begin_ns = phased.consumers.at(0).passes.at(2).deliveries.at(0).wait.begin_ns;
  CHECK(window_of(phased).pauses_s.size() == 2);
}

TEST_CASE("a consumer without a delivery has no window") {
  const Consumer nobody;
  const SteadyWindow window = steady_window(nobody);
  CHECK(window.steps.empty());
  CHECK(window.loaders_seen == 0);
}

TEST_CASE("steps are in order of time where batches overtake each other") {
  JobSpec spec = fetch_bound();
  spec.loader = {4, 2, false};
  spec.read_cv = 1.0;
  const RunData run = make_run(spec);
  const SteadyWindow window = window_of(run);
  CHECK(window.steps.size() == 200 - 8 - 10);
  bool overtaken = false;
  for (std::size_t i = 1; i < window.steps.size(); ++i) {
    CHECK(window.steps[i].begin_ns == window.steps[i - 1].end_ns);
    overtaken = overtaken || window.steps[i].delivery->wait.batch < window.steps[i - 1].delivery->wait.batch;
  }
  CHECK(overtaken);
}

TEST_CASE("a stretch without recording is no step where batches overtake each other, either") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    JobSpec spec = fetch_bound();
    spec.loader = {4, 2, false};
    spec.read_cv = 1.0;
    spec.seed = seed;
    spec.off = {{5.0, 5.3}, {10.0, 12.0}};
    const RunData run = make_run(spec);
    const SteadyWindow window = window_of(run);
    CHECK(window.steps.size() > 50);
    for (const SteadyStep& step : window.steps) {
      for (const std::uint64_t off_ns : {5'150'000'000ULL, 11'000'000'000ULL}) {
        CHECK_FALSE((step.begin_ns < k_start_ns + off_ns && step.end_ns > k_start_ns + off_ns));
      }
    }
  }
}

TEST_CASE("a second loader of every step is part of the step") {
  JobSpec spec = compute_bound();
  spec.evaluate_every = 1;
  spec.evaluation_batches = 1;
  const RunData run = make_run(spec);
  const SteadyWindow window = window_of(run);
  CHECK(window.interrupted_steps == 0);
  CHECK(window.steps.size() > 150);
}
