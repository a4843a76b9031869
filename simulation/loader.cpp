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
#include <limits>
#include <queue>

#include "core/check.hpp"
#include "simulation/critical_path.hpp"

namespace stallcast::simulation {
namespace {

double making_s(const BatchWork& work) {
  return work.read_s + work.cpu_s + work.other_s;
}

double step_s(const StepWork& step) {
  return step.device_s + step.cpu_s;
}

LoaderRun make_run(std::span<const BatchWork> work) {
  LoaderRun run;
  run.delivered_s.resize(work.size());
  run.wait_s.resize(work.size());
  for (const BatchWork& batch : work) {
    run.reading_s += batch.read_s;
    run.computing_s += batch.cpu_s;
  }
  return run;
}

LoaderRun run_without_workers(std::span<const BatchWork> work, std::span<const StepWork> steps) {
  LoaderRun run = make_run(work);
  double now = 0.0;
  for (std::size_t i = 0; i < work.size(); ++i) {
    const double making = making_s(work[i]);
    run.wait_s[i] = making;
    run.delivered_s[i] = now + making;
    now += making + step_s(steps[i]);
    run.critical_s[static_cast<std::size_t>(Binding::worker)] += making;
    run.critical_s[static_cast<std::size_t>(Binding::step)] += step_s(steps[i]);
  }
  run.end_s = now;
  const bool worker_binds = run.critical_s[static_cast<std::size_t>(Binding::worker)] >
                            run.critical_s[static_cast<std::size_t>(Binding::step)];
  run.binding = worker_binds ? Binding::worker : Binding::step;
  return run;
}

LoaderRun run_in_order(const LoaderSetup& setup, std::span<const BatchWork> work, std::span<const StepWork> steps) {
  const auto workers = static_cast<std::size_t>(setup.workers);
  const auto outstanding = workers * static_cast<std::size_t>(setup.prefetch_factor);
  LoaderRun run = make_run(work);
  std::vector<double> worker_free(workers, 0.0);
  std::vector<BegunBy> begun_by(work.size(), BegunBy::start);
  double asked = 0.0;
  std::size_t worker = 0;
  for (std::size_t i = 0; i < work.size(); ++i) {
    const double issued = i < outstanding ? 0.0 : run.delivered_s[i - outstanding];
    const double begun = std::max(worker_free[worker], issued);
    if (i >= workers) begun_by[i] = issued >= begun && i >= outstanding ? BegunBy::delivery : BegunBy::worker;
    const double ready = begun + making_s(work[i]);
    worker_free[worker] = ready;
    const double delivered = std::max(ready, asked);
    run.delivered_s[i] = delivered;
    run.wait_s[i] = delivered - asked;
    asked = delivered + step_s(steps[i]);
    worker = worker + 1 == workers ? 0 : worker + 1;
  }
  run.end_s = asked;
  const auto link_of = [&](std::size_t i) {
    const std::size_t back = begun_by[i] == BegunBy::delivery ? outstanding : workers;
    return Link{.begun_by = begun_by[i],
                .waited = run.wait_s[i] > 0.0 || i == 0,
                .before = i - back,
                .making_s = making_s(work[i]),
                .step_s = step_s(steps[i])};
  };
  find_critical_path(work.size(), link_of, run);
  return run;
}

/// A batch on its way when batches are delivered as they come.
struct OnItsWay {
  double ready_s = 0.0;
  std::size_t worker = 0;
  std::size_t batch = 0;
  bool begun_by_delivery = false;
  std::size_t sent_by = 0;  ///< the delivery that sent its index

  bool operator>(const OnItsWay& other) const { return ready_s > other.ready_s; }
};

/// As they come: the earliest finished batch is taken, and its worker gets the next index (it is the only one that has
/// room, since every other worker still has k outstanding).
LoaderRun run_as_they_come(const LoaderSetup& setup, std::span<const BatchWork> work, std::span<const StepWork> steps) {
  constexpr std::size_t k_start = std::numeric_limits<std::size_t>::max();
  const auto workers = static_cast<std::size_t>(setup.workers);
  const auto outstanding = workers * static_cast<std::size_t>(setup.prefetch_factor);
  std::priority_queue<OnItsWay, std::vector<OnItsWay>, std::greater<>> on_their_way;
  LoaderRun run = make_run(work);
  std::vector<double> worker_free(workers, 0.0);
  std::vector<std::size_t> delivered_last(workers, k_start);
  std::vector<Link> links(work.size());
  std::size_t next = 0;
  const auto issue = [&](std::size_t worker, double now, std::size_t sent_by) {
    if (next == work.size()) return;
    const bool by_delivery = sent_by != k_start && now >= worker_free[worker];
    worker_free[worker] = std::max(worker_free[worker], now) + making_s(work[next]);
    on_their_way.push({worker_free[worker], worker, next, by_delivery, sent_by});
    ++next;
  };
  for (std::size_t i = 0; i < outstanding; ++i) issue(i % workers, 0.0, k_start);
  double asked = 0.0;
  for (std::size_t i = 0; i < work.size(); ++i) {
    const OnItsWay taken = on_their_way.top();
    on_their_way.pop();
    const double delivered = std::max(taken.ready_s, asked);
    run.delivered_s[i] = delivered;
    run.wait_s[i] = delivered - asked;
    Link& link = links[i];
    link.waited = taken.ready_s > asked || i == 0;
    link.before = taken.begun_by_delivery ? taken.sent_by : delivered_last[taken.worker];
    if (link.before != k_start) link.begun_by = taken.begun_by_delivery ? BegunBy::delivery : BegunBy::worker;
    link.making_s = making_s(work[taken.batch]);
    link.step_s = step_s(steps[i]);
    delivered_last[taken.worker] = i;
    issue(taken.worker, delivered, i);
    asked = delivered + step_s(steps[i]);
  }
  run.end_s = asked;
  find_critical_path(
      work.size(), [&links](std::size_t i) { return links[i]; }, run);
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
