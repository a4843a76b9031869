// Workers and the consumer on one machine whose cores, and perhaps disk, they share (station.hpp).
#include <algorithm>
#include <deque>
#include <limits>
#include <tuple>
#include <utility>

#include "core/check.hpp"
#include "simulation/critical_path.hpp"
#include "simulation/loader.hpp"
#include "simulation/station.hpp"

namespace stallcast::simulation {
namespace {

enum class Stage { idle, reading, computing, occupied };

struct Worker {
  std::deque<std::size_t> queue{};  ///< batches whose indices were sent to it
  std::size_t batch = 0;
  Stage stage = Stage::idle;
  int slices = 1;
  int slices_left = 0;
  double batch_began = 0.0;
  double stage_began = 0.0;
  double crowded_before = 0.0;  ///< crowded_s of the stage's station when the stage began
};

constexpr std::size_t k_start = std::numeric_limits<std::size_t>::max();

/// Of one batch, by its number: what its Link needs.
struct Made {
  bool ready = false;
  std::size_t sent_by = k_start;      ///< the delivery that sent its index
  std::size_t made_before = k_start;  ///< the batch that its worker made before, if that is what it waited for
  std::size_t delivery = 0;
  double storage_s = 0.0;
  double cores_s = 0.0;
  double making_s = 0.0;
};

class SharedRun {
 public:
  SharedRun(const LoaderSetup& setup, const SharedMachine& machine, std::span<const BatchWork> work,
            std::span<const StepWork> steps)
      : setup_(setup),
        work_(work),
        steps_(steps),
        step_threads_(machine.step_threads),
        slices_(machine.slices),
        cores_(machine.cores),
        disk_(machine.shared_disk ? machine.disk_streams : k_never),
        delay_(k_never),
        workers_(static_cast<std::size_t>(setup.workers)),
        consumer_(workers_.size()),
        made_(work.size()),
        delivered_batch_(work.size()),
        step_cores_s_(work.size()) {
    run_.delivered_s.resize(work.size());
    run_.wait_s.resize(work.size());
  }

  LoaderRun run() {
    const std::size_t outstanding = workers_.size() * static_cast<std::size_t>(setup_.prefetch_factor);
    for (std::size_t i = 0; i < outstanding; ++i) issue(i % workers_.size(), k_start);
    ask();
    while (delivered_ < work_.size() || consumer_busy_) next_event();
    run_.end_s = now_;
    find_critical_path(
        work_.size(), [this](std::size_t i) { return link_of(i); }, run_);
    return std::move(run_);
  }

 private:
  void next_event() {
    Station* first = &cores_;
    for (Station* station : {&disk_, &delay_}) {
      if (station->next_leave() < first->next_leave()) first = station;
    }
    STALLCAST_CHECK(first->next_leave() < k_never);
    now_ = first->next_leave();
    const std::size_t thread = first->leave();
    if (thread == consumer_) {
      step_stage_done();
    } else {
      worker_stage_done(thread);
    }
  }

  void issue(std::size_t worker, std::size_t sent_by) {
    if (issued_ == work_.size()) return;
    made_[issued_].sent_by = sent_by;
    workers_[worker].queue.push_back(issued_++);
    if (workers_[worker].stage == Stage::idle) begin_batch(worker, k_start);
  }

  void begin_batch(std::size_t index, std::size_t made_before) {
    Worker& worker = workers_[index];
    worker.batch = worker.queue.front();
    worker.queue.pop_front();
    worker.batch_began = now_;
    made_[worker.batch].made_before = made_before;
    const BatchWork& work = work_[worker.batch];
    const int stages = (work.read_s > 0.0 ? 1 : 0) + (work.cpu_s > 0.0 ? 1 : 0) + (work.other_s > 0.0 ? 1 : 0);
    worker.slices = worker.slices_left = stages > 1 ? slices_ : 1;  // of one stage alone, turns make no difference
    if (stages > 0) {
      go_on(index, Stage::reading);
    } else {
      enter(index, Stage::occupied, delay_, 0.0);
    }
  }

  /// From `stage` on, the first that takes time, in this slice or the next (idle: a slice is over); after the last
  /// slice the batch is made.
  void go_on(std::size_t index, Stage stage) {
    Worker& worker = workers_[index];
    const BatchWork& work = work_[worker.batch];
    while (true) {
      switch (stage) {
        case Stage::reading:
          if (work.read_s > 0.0) return enter(index, stage, disk_, work.read_s);
          stage = Stage::computing;
          break;
        case Stage::computing:
          if (work.cpu_s > 0.0) return enter(index, stage, cores_, work.cpu_s);
          stage = Stage::occupied;
          break;
        case Stage::occupied:
          if (work.other_s > 0.0) return enter(index, stage, delay_, work.other_s);
          stage = Stage::idle;
          break;
        case Stage::idle:
          if (--worker.slices_left == 0) return finish_batch(index);
          stage = Stage::reading;
          break;
      }
    }
  }

  void enter(std::size_t index, Stage stage, Station& station, double demand) {
    Worker& worker = workers_[index];
    worker.stage = stage;
    worker.stage_began = now_;
    worker.crowded_before = station.crowded_s(now_);
    station.arrive(now_, index, demand / worker.slices);
  }

  void worker_stage_done(std::size_t index) {
    Worker& worker = workers_[index];
    Made& made = made_[worker.batch];
    if (worker.stage == Stage::reading) {
      run_.reading_s += now_ - worker.stage_began;
      made.storage_s += disk_.crowded_s(now_) - worker.crowded_before;
      go_on(index, Stage::computing);
    } else if (worker.stage == Stage::computing) {
      run_.computing_s += now_ - worker.stage_began;
      made.cores_s += cores_.crowded_s(now_) - worker.crowded_before;
      go_on(index, Stage::occupied);
    } else {
      go_on(index, Stage::idle);
    }
  }

  void finish_batch(std::size_t index) {
    Worker& worker = workers_[index];
    const std::size_t batch = worker.batch;
    made_[batch].ready = true;
    made_[batch].making_s = now_ - worker.batch_began;
    if (!setup_.in_order) arrived_.emplace_back(batch, index);
    worker.stage = Stage::idle;
    if (!worker.queue.empty()) begin_batch(index, batch);
    if (asking_) try_deliver();
  }

  void ask() {
    consumer_busy_ = false;
    if (delivered_ == work_.size()) return;
    asking_ = true;
    asked_ = now_;
    try_deliver();
  }

  void try_deliver() {
    std::size_t batch = delivered_;
    std::size_t next_worker = issued_ % workers_.size();
    if (setup_.in_order) {
      if (!made_[batch].ready) return;
    } else {
      if (arrived_.empty()) return;
      std::tie(batch, next_worker) = arrived_.front();
      arrived_.pop_front();
    }
    run_.delivered_s[delivered_] = now_;
    run_.wait_s[delivered_] = now_ - asked_;
    delivered_batch_[delivered_] = batch;
    made_[batch].delivery = delivered_;
    asking_ = false;
    consumer_busy_ = true;
    step_computing_ = true;
    step_crowded_before_ = cores_.crowded_s(now_);
    cores_.arrive(now_, consumer_, steps_[delivered_].cpu_s, step_threads_);
    ++delivered_;
    issue(next_worker, delivered_ - 1);
  }

  void step_stage_done() {
    if (step_computing_) {
      step_computing_ = false;
      step_cores_s_[delivered_ - 1] = cores_.crowded_s(now_) - step_crowded_before_;
      delay_.arrive(now_, consumer_, steps_[delivered_ - 1].device_s);
    } else {
      ask();
    }
  }

  [[nodiscard]] Link link_of(std::size_t delivery) const {
    const Made& made = made_[delivered_batch_[delivery]];
    const double next_asked =
        delivery + 1 < work_.size() ? run_.delivered_s[delivery + 1] - run_.wait_s[delivery + 1] : run_.end_s;
    Link link{.waited = run_.wait_s[delivery] > 0.0 || delivery == 0,
              .cores_s = made.cores_s,
              .storage_s = made.storage_s,
              .making_s = made.making_s,
              .step_cores_s = step_cores_s_[delivery],
              .step_s = next_asked - run_.delivered_s[delivery]};
    if (made.made_before != k_start) {
      link.begun_by = BegunBy::worker;
      link.before = made_[made.made_before].delivery;
    } else if (made.sent_by != k_start) {
      link.begun_by = BegunBy::delivery;
      link.before = made.sent_by;
    }
    return link;
  }

  LoaderSetup setup_;
  std::span<const BatchWork> work_;
  std::span<const StepWork> steps_;
  double step_threads_;
  int slices_;
  Station cores_;
  Station disk_;
  Station delay_;
  std::vector<Worker> workers_;
  std::size_t consumer_;  ///< its thread number, after the workers
  std::vector<Made> made_;
  std::vector<std::size_t> delivered_batch_;
  std::vector<double> step_cores_s_;
  std::deque<std::pair<std::size_t, std::size_t>> arrived_{};  ///< batch, worker; read only when not in order
  LoaderRun run_{};
  double now_ = 0.0;
  double asked_ = 0.0;
  double step_crowded_before_ = 0.0;
  std::size_t issued_ = 0;
  std::size_t delivered_ = 0;
  bool asking_ = false;
  bool consumer_busy_ = false;
  bool step_computing_ = false;
};

/// One thread shares nothing, but less than a whole core (a quota) slows its computing.
LoaderRun run_alone(const SharedMachine& machine, std::span<const BatchWork> work, std::span<const StepWork> steps) {
  const double slower = 1.0 / std::min(1.0, machine.cores);
  const double slower_step = std::max(1.0, machine.step_threads / machine.cores);
  std::vector<BatchWork> slow_work(work.begin(), work.end());
  std::vector<StepWork> slow_steps(steps.begin(), steps.end());
  for (BatchWork& batch : slow_work) batch.cpu_s *= slower;
  for (StepWork& step : slow_steps) step.cpu_s *= slower_step;
  return run_loader(LoaderSetup{}, slow_work, slow_steps);
}

}  // namespace

LoaderRun run_loader_shared(const LoaderSetup& setup, const SharedMachine& machine, std::span<const BatchWork> work,
                            std::span<const StepWork> steps) {
  STALLCAST_CHECK(work.size() == steps.size());
  STALLCAST_CHECK(machine.cores > 0.0 && machine.disk_streams > 0.0 && machine.step_threads > 0.0);
  STALLCAST_CHECK(machine.slices >= 1);
  if (setup.workers == 0) return run_alone(machine, work, steps);
  STALLCAST_CHECK(setup.workers > 0 && setup.prefetch_factor >= 1);
  return SharedRun(setup, machine, work, steps).run();
}

}  // namespace stallcast::simulation
