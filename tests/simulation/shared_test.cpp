#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "simulation/loader.hpp"

namespace stallcast::simulation {
namespace {

using Times = std::vector<double>;

/// The same machine in small steps of time: every thread advances at its share, in order delivery only.
double end_by_small_steps(const LoaderSetup& setup, const SharedMachine& machine, const std::vector<BatchWork>& work,
                          const std::vector<StepWork>& steps, double dt) {
  struct Thread {
    std::size_t batch = 0;
    std::vector<double> left{};  // of the stages of what it does: {disk, cores, delay}
  };
  const auto count = static_cast<std::size_t>(setup.workers);
  const std::size_t outstanding = count * static_cast<std::size_t>(setup.prefetch_factor);
  std::vector<Thread> threads(count + 1);
  std::vector<bool> ready(work.size(), false);
  for (std::size_t w = 0; w < count; ++w) threads[w].batch = w;
  std::size_t delivered = 0;
  for (double now = 0.0;; now += dt) {
    // hand over and start whatever can start
    Thread& consumer = threads[count];
    if (consumer.left.empty()) {
      if (delivered == work.size()) return now;
      if (ready[delivered]) {
        consumer.left = {0.0, steps[delivered].cpu_s, steps[delivered].device_s};
        ++delivered;
      }
    }
    for (std::size_t w = 0; w < count; ++w) {
      Thread& worker = threads[w];
      const std::size_t next = worker.batch;
      if (worker.left.empty() && next < std::min(work.size(), delivered + outstanding)) {
        worker.left = {work[next].read_s, work[next].cpu_s, work[next].other_s};
      }
    }
    // who is in which stage
    const auto stage_of = [](const Thread& thread) -> std::size_t {
      for (std::size_t s = 0; s < thread.left.size(); ++s) {
        if (thread.left[s] > 0.0) return s;
      }
      return 3;
    };
    std::vector<double> users(4, 0.0);
    for (const Thread& thread : threads) users[stage_of(thread)] += 1.0;
    for (std::size_t t = 0; t < threads.size(); ++t) {
      Thread& thread = threads[t];
      const std::size_t stage = stage_of(thread);
      if (stage < 3) {
        double speed = 1.0;
        if (stage == 0 && machine.shared_disk) speed = std::min(1.0, machine.disk_streams / users[0]);
        if (stage == 1) speed = std::min(1.0, machine.cores / users[1]);
        thread.left[stage] -= speed * dt;
      }
      if (!thread.left.empty() && stage_of(thread) == 3) {
        thread.left.clear();
        if (t < count) {
          ready[thread.batch] = true;
          thread.batch += count;
        }
      }
    }
  }
}

TEST_CASE("two workers on one core take turns") {
  // both compute from 0 at half speed: ready at 2 and 2; the consumer's device is free of the core
  const std::vector<BatchWork> work(2, BatchWork{0.0, 1.0, 0.0});
  const std::vector<StepWork> steps(2, StepWork{0.5, 0.0});
  const auto run = run_loader_shared({2, 1, true}, {1.0, false, 1.0}, work, steps);
  CHECK(run.delivered_s == Times{2.0, 2.5});
  CHECK(run.end_s == 3.0);
}

TEST_CASE("a consumer that computes slows the workers, and they slow it") {
  // worker: batch 0 ready at 1; then batch 1 (1 s) and the step (1 s) share the core from 1 to 3
  const std::vector<BatchWork> work(2, BatchWork{0.0, 1.0, 0.0});
  const std::vector<StepWork> steps(2, StepWork{0.0, 1.0});
  const auto run = run_loader_shared({1, 2, true}, {1.0, false, 1.0}, work, steps);
  CHECK(run.delivered_s == Times{1.0, 3.0});
  CHECK(run.end_s == 4.0);
}

TEST_CASE("a shared disk serves its streams, an unshared one everybody") {
  const std::vector<BatchWork> work(4, BatchWork{1.0, 0.0, 0.0});
  const std::vector<StepWork> steps(4, StepWork{0.0, 0.0});
  CHECK(run_loader_shared({4, 1, true}, {4.0, false, 1.0}, work, steps).end_s == doctest::Approx(1.0));
  CHECK(run_loader_shared({4, 1, true}, {4.0, true, 1.0}, work, steps).end_s == doctest::Approx(4.0));
  CHECK(run_loader_shared({4, 1, true}, {4.0, true, 2.0}, work, steps).end_s == doctest::Approx(2.0));
}

TEST_CASE("half a core takes twice as long, with and without workers") {
  const std::vector<BatchWork> work(3, BatchWork{1.0, 1.0, 0.0});
  const std::vector<StepWork> steps(3, StepWork{1.0, 1.0});
  CHECK(run_loader_shared({0, 2, true}, {0.5, false, 1.0}, work, steps).end_s ==
        doctest::Approx(3.0 * (1 + 2 + 1 + 2)));
  CHECK(run_loader_shared({1, 1, true}, {0.5, false, 1.0}, {work.data(), 1}, {steps.data(), 1}).end_s ==
        doctest::Approx(6.0));
}

TEST_CASE("a step of several threads takes as many shares of the cores") {
  // a worker (1 s) beside a step of 3 threads (1 s) on 2 cores, from 1 to 3 at half speed
  const std::vector<BatchWork> work(2, BatchWork{0.0, 1.0, 0.0});
  const std::vector<StepWork> steps(2, StepWork{0.0, 1.0});
  const SharedMachine machine{.cores = 2.0, .shared_disk = false, .disk_streams = 1.0, .step_threads = 3.0};
  const auto run = run_loader_shared({1, 2, true}, machine, work, steps);
  CHECK(run.delivered_s == Times{1.0, 3.0});
  CHECK(run.end_s == doctest::Approx(4.5));  // the last step alone: 3 threads on 2 cores
}

TEST_CASE("a batch made in two turns meets the others twice") {
  // Worker 0 reads 1 s and computes 1 s, worker 1 computes 1 s, one core. In one piece worker 1 is done when worker 0
  // comes to compute: 2 s. In two turns worker 0 reads to 0.5, shares the core to 1.5, reads to 2, computes to 2.5.
  const std::vector<BatchWork> work{BatchWork{1.0, 1.0, 0.0}, BatchWork{0.0, 1.0, 0.0}};
  const std::vector<StepWork> steps(2, StepWork{0.0, 0.0});
  const auto end = [&](int slices) {
    const SharedMachine machine{
        .cores = 1.0, .shared_disk = true, .disk_streams = 1.0, .step_threads = 1.0, .slices = slices};
    return run_loader_shared({2, 1, true}, machine, work, steps).end_s;
  };
  CHECK(end(1) == doctest::Approx(2.0));
  CHECK(end(2) == doctest::Approx(2.5));
}

TEST_CASE("time spent reading and computing is what the stages took, queueing included") {
  const std::vector<BatchWork> work(4, BatchWork{1.0, 0.5, 0.0});
  const std::vector<StepWork> steps(4, StepWork{0.0, 0.0});
  const auto shared = run_loader_shared({4, 1, true}, {4.0, true, 1.0}, work, steps);
  CHECK(shared.reading_s == doctest::Approx(16.0));  // four readers at a quarter of the speed
  CHECK(shared.computing_s == doctest::Approx(2.0));
  const auto alone = run_loader({4, 1, true}, work, steps);
  CHECK(alone.reading_s == doctest::Approx(4.0));
  CHECK(alone.computing_s == doctest::Approx(2.0));
}

TEST_CASE("with enough of everything sharing changes nothing") {
  std::mt19937_64 random(3);
  std::gamma_distribution<double> draw(2.0, 0.5);
  for (int trial = 0; trial < 20; ++trial) {
    const LoaderSetup setup{1 + trial % 5, 1 + trial % 3, trial % 2 == 0};
    std::vector<BatchWork> work(200);
    std::vector<StepWork> steps(200);
    for (auto& batch : work) batch = {draw(random), draw(random), draw(random)};
    for (auto& step : steps) step = {draw(random), draw(random)};
    const auto plain = run_loader(setup, work, steps);
    const auto shared = run_loader_shared(setup, {64.0, true, 64.0}, work, steps);
    CAPTURE(trial);
    CHECK(shared.end_s == doctest::Approx(plain.end_s).epsilon(1e-9));
    CHECK(shared.wait_s[150] == doctest::Approx(plain.wait_s[150]).epsilon(1e-6));
    CHECK(shared.binding == plain.binding);
  }
}

TEST_CASE("events agree with the same machine in small steps of time") {
  std::mt19937_64 random(4);
  std::gamma_distribution<double> draw(2.0, 0.5);
  for (int trial = 0; trial < 12; ++trial) {
    const LoaderSetup setup{1 + trial % 4, 1 + trial % 2, true};
    const SharedMachine machine{.cores = 0.7 + 0.4 * trial, .shared_disk = trial % 3 != 0, .disk_streams = 1.0};
    std::vector<BatchWork> work(25);
    std::vector<StepWork> steps(25);
    for (auto& batch : work) batch = {draw(random), draw(random), draw(random)};
    for (auto& step : steps) step = {draw(random), draw(random)};
    CAPTURE(trial);
    const double slow = end_by_small_steps(setup, machine, work, steps, 1e-3);
    CHECK(run_loader_shared(setup, machine, work, steps).end_s == doctest::Approx(slow).epsilon(0.004));
  }
}

TEST_CASE("the binding stage names what queues") {
  const std::vector<StepWork> steps(100, StepWork{0.01, 0.0});
  const std::vector<BatchWork> reading(100, BatchWork{1.0, 0.01, 0.0});
  const std::vector<BatchWork> computing(100, BatchWork{0.01, 1.0, 0.0});
  CHECK(run_loader_shared({4, 2, true}, {8.0, true, 1.0}, reading, steps).binding == Binding::storage);
  CHECK(run_loader_shared({4, 2, true}, {1.0, true, 1.0}, computing, steps).binding == Binding::cores);
  CHECK(run_loader_shared({4, 2, true}, {8.0, true, 8.0}, computing, steps).binding == Binding::worker);
}

}  // namespace
}  // namespace stallcast::simulation
