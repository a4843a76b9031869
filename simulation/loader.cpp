// In-order round-robin loading, exactly. Worked example with W = 2 workers, k = 1, making a batch takes 3 s, a step 1
// s:
//
//   batch          0   1   2   3     batch i is made by worker i % 2, as soon as that worker is free and the batch's
//   issued         0   0   3   4     index is there: at the start for the first W k batches, afterwards when batch
//   starts         0   0   3   4     i - W k is delivered
//   ready          3   3   6   7
//   asked for      0   4   5   7     the consumer asks when its step on the batch before has ended
//   delivered      3   4   6   7     max(ready, asked for)
//   waits          3   0   1   0
#include "simulation/loader.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "core/check.hpp"

namespace stallcast::simulation {
namespace {

double making_s(const BatchWork& work) {
  return work.read_s + work.cpu_s + work.other_s;
}

double step_s(const StepWork& step) {
  return step.device_s + step.cpu_s;
}

LoaderRun make_run(std::size_t batches) {
  LoaderRun run;
  run.delivered_s.resize(batches);
  run.wait_s.resize(batches);
  return run;
}

/// Every batch that had to be waited for names the workers: nothing else is shared in this model.
Binding binding_of(std::size_t waited, std::size_t batches) {
  return 2 * waited > batches ? Binding::worker : Binding::step;
}

LoaderRun run_without_workers(std::span<const BatchWork> work, std::span<const StepWork> steps) {
  LoaderRun run = make_run(work.size());
  double now = 0.0;
  std::size_t waits_longer = 0;
  for (std::size_t i = 0; i < work.size(); ++i) {
    const double making = making_s(work[i]);
    run.wait_s[i] = making;
    run.delivered_s[i] = now + making;
    now += making + step_s(steps[i]);
    if (making > step_s(steps[i])) ++waits_longer;
  }
  run.end_s = now;
  run.binding = binding_of(waits_longer, work.size());
  return run;
}

LoaderRun run_in_order(const LoaderSetup& setup, std::span<const BatchWork> work, std::span<const StepWork> steps) {
  const auto workers = static_cast<std::size_t>(setup.workers);
  const auto outstanding = workers * static_cast<std::size_t>(setup.prefetch_factor);
  LoaderRun run = make_run(work.size());
  std::vector<double> worker_free(workers, 0.0);
  double asked = 0.0;
  std::size_t waited = 0;
  std::size_t worker = 0;
  for (std::size_t i = 0; i < work.size(); ++i) {
    const double issued = i < outstanding ? 0.0 : run.delivered_s[i - outstanding];
    const double ready = std::max(worker_free[worker], issued) + making_s(work[i]);
    worker_free[worker] = ready;
    const double delivered = std::max(ready, asked);
    run.delivered_s[i] = delivered;
    run.wait_s[i] = delivered - asked;
    waited += ready > asked ? 1U : 0U;
    asked = delivered + step_s(steps[i]);
    worker = worker + 1 == workers ? 0 : worker + 1;
  }
  run.end_s = asked;
  run.binding = binding_of(waited, work.size());
  return run;
}

/// As they come: the earliest finished batch is taken, and its worker gets the next index (it is the only one that has
/// room, since every other worker still has k outstanding).
LoaderRun run_as_they_come(const LoaderSetup& setup, std::span<const BatchWork> work, std::span<const StepWork> steps) {
  const auto workers = static_cast<std::size_t>(setup.workers);
  const auto outstanding = workers * static_cast<std::size_t>(setup.prefetch_factor);
  using Finished = std::pair<double, std::size_t>;  // when, by which worker
  std::priority_queue<Finished, std::vector<Finished>, std::greater<>> finished;
  LoaderRun run = make_run(work.size());
  std::vector<double> worker_free(workers, 0.0);
  std::size_t next = 0;
  const auto issue = [&](std::size_t worker, double now) {
    if (next == work.size()) return;
    worker_free[worker] = std::max(worker_free[worker], now) + making_s(work[next]);
    finished.emplace(worker_free[worker], worker);
    ++next;
  };
  for (std::size_t i = 0; i < outstanding; ++i) issue(i % workers, 0.0);
  double asked = 0.0;
  std::size_t waited = 0;
  for (std::size_t i = 0; i < work.size(); ++i) {
    const auto [ready, worker] = finished.top();
    finished.pop();
    const double delivered = std::max(ready, asked);
    run.delivered_s[i] = delivered;
    run.wait_s[i] = delivered - asked;
    waited += ready > asked ? 1U : 0U;
    issue(worker, delivered);
    asked = delivered + step_s(steps[i]);
  }
  run.end_s = asked;
  run.binding = binding_of(waited, work.size());
  return run;
}

}  // namespace

LoaderRun run_loader(const LoaderSetup& setup, std::span<const BatchWork> work, std::span<const StepWork> steps) {
  STALLCAST_CHECK(work.size() == steps.size());
  STALLCAST_CHECK(setup.workers >= 0);
  if (setup.workers == 0) return run_without_workers(work, steps);
  STALLCAST_CHECK(setup.prefetch_factor >= 1);
  return setup.in_order ? run_in_order(setup, work, steps) : run_as_they_come(setup, work, steps);
}

}  // namespace stallcast::simulation
