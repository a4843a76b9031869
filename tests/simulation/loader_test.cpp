#include <doctest/doctest.h>

#include <random>
#include <vector>

#include "simulation/loader.hpp"
#include "tests/simulation/reference_loader.hpp"

namespace stallcast::simulation {
namespace {

std::vector<BatchWork> computing(const std::vector<double>& seconds) {
  std::vector<BatchWork> work;
  for (const double s : seconds) work.push_back({.read_s = 0.0, .cpu_s = s, .other_s = 0.0});
  return work;
}

std::vector<StepWork> on_device(const std::vector<double>& seconds) {
  std::vector<StepWork> steps;
  for (const double s : seconds) steps.push_back({.device_s = s, .cpu_s = 0.0});
  return steps;
}

using Times = std::vector<double>;

TEST_CASE("two workers, one batch prefetched by each: the example at the head of loader.cpp") {
  const auto run = run_loader({2, 1, true}, computing({3, 3, 3, 3}), on_device({1, 1, 1, 1}));
  CHECK(run.delivered_s == Times{3, 4, 6, 7});
  CHECK(run.wait_s == Times{3, 0, 2 - 1, 0});
  CHECK(run.end_s == 8.0);
}

TEST_CASE("a batch that is late holds back the ones behind it, unless they come as they are ready") {
  const auto work = computing({9, 1, 1, 1});
  const auto steps = on_device({1, 1, 1, 1});
  // in order: batch 1 (ready at 1) waits behind batch 0; batches 2 and 3 are made by workers 0 and 1
  CHECK(run_loader({2, 2, true}, work, steps).delivered_s == Times{9, 10, 11, 12});
  // as they come: 1 at 1, 3 at 2; both of worker 1; batches 0 and 2 of worker 0 come at 9 and 10
  CHECK(run_loader({2, 2, false}, work, steps).delivered_s == Times{1, 2, 9, 10});
}

TEST_CASE("as they come, the worker whose batch was taken gets the next index") {
  // worker 0 is stuck with batch 0 for 100 s; worker 1 makes 1, 3, and then 4 and 5, which were sent to it
  const auto run = run_loader({2, 2, false}, computing({100, 1, 1, 1, 1, 1}), on_device({1, 1, 1, 1, 1, 1}));
  CHECK(run.delivered_s == Times{1, 2, 3, 4, 100, 101});
}

TEST_CASE("without workers every batch adds to its step") {
  const std::vector<BatchWork> work{{1, 2, 0.5}, {0, 1, 0}};
  const std::vector<StepWork> steps{{2, 1}, {0, 4}};
  const auto run = run_loader({0, 2, true}, work, steps);
  CHECK(run.wait_s == Times{3.5, 1});
  CHECK(run.delivered_s == Times{3.5, 7.5});
  CHECK(run.end_s == 11.5);
}

TEST_CASE("prefetching bounds how far a worker runs ahead") {
  // one worker, one batch outstanding, a consumer of 5 s: batch i+1 is begun when batch i is delivered
  const auto run = run_loader({1, 1, true}, computing({2, 2, 2}), on_device({5, 5, 5}));
  CHECK(run.delivered_s == Times{2, 7, 12});
  CHECK(run.wait_s == Times{2, 0, 0});
}

TEST_CASE("the binding stage is the largest part of the critical path, though bunched arrivals make few steps wait") {
  const Times fast(100, 1.0);
  const Times slow(100, 5.0);
  CHECK(run_loader({2, 2, true}, computing(slow), on_device(fast)).binding == Binding::worker);
  CHECK(run_loader({2, 2, true}, computing(fast), on_device(slow)).binding == Binding::step);
  CHECK(run_loader({0, 2, true}, computing(slow), on_device(fast)).binding == Binding::worker);
}

TEST_CASE("no batches take no time") {
  CHECK(run_loader({4, 2, true}, {}, {}).end_s == 0.0);
  CHECK(run_loader({4, 2, false}, {}, {}).end_s == 0.0);
  CHECK(run_loader({0, 2, true}, {}, {}).end_s == 0.0);
}

TEST_CASE("the recursion agrees with PyTorch's bookkeeping played tick by tick") {
  std::mt19937 random(20240501);
  for (int trial = 0; trial < 300; ++trial) {
    const int workers = 1 + static_cast<int>(random() % 5);
    const int prefetch = 1 + static_cast<int>(random() % 4);
    const bool in_order = trial % 2 == 0;
    std::vector<int> making(60);
    std::vector<int> step(60);
    // distinct residues make ties rare, in which the order of equal times would be a matter of taste
    for (int& m : making) m = 1 + static_cast<int>(random() % 9973);
    for (int& s : step) s = 1 + static_cast<int>(random() % (trial % 3 == 0 ? 9973 : 3001));
    const auto expected = reference::TickLoader(workers, prefetch, in_order, making, step).run();
    const auto run = run_loader({workers, prefetch, in_order}, computing({making.begin(), making.end()}),
                                on_device({step.begin(), step.end()}));
    CAPTURE(trial);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CAPTURE(i);
      REQUIRE(run.delivered_s[i] == static_cast<double>(expected[i].delivered));
      REQUIRE(run.wait_s[i] == static_cast<double>(expected[i].wait));
    }
  }
}

}  // namespace
}  // namespace stallcast::simulation
