// Workers and the consumer on one machine whose cores, and perhaps disk, they share. Processor sharing by virtual time:
// a station with capacity c that n threads use serves each at the speed min(1, c/n). Its virtual clock runs at that
// speed, so a thread that arrives with demand d leaves when the virtual clock has advanced by d, whoever comes and
// goes.
//
// Example, one core: A arrives at 0 with 2 s, B at 1 with 2 s. Virtual clock 1 at time 1; from there half speed; A
// leaves at virtual 2 = time 3, B (virtual 1 + 2 = 3) alone again at full speed: time 4.
#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>

#include "core/check.hpp"
#include "simulation/loader.hpp"

namespace stallcast::simulation {
namespace {

constexpr double k_never = std::numeric_limits<double>::infinity();

/// Threads being served, each at the speed min(1, capacity / how many there are).
class Station {
 public:
  explicit Station(double capacity) : capacity_(capacity) {}

  void arrive(std::size_t thread, double demand) { leaving_.emplace(virtual_now_ + demand, thread); }

  [[nodiscard]] double next_leave_in() const {
    return leaving_.empty() ? k_never : std::max(0.0, leaving_.top().first - virtual_now_) / speed();
  }

  void advance(double elapsed) {
    if (!leaving_.empty()) virtual_now_ += elapsed * speed();
  }

  std::size_t leave() {
    const auto [when, thread] = leaving_.top();
    leaving_.pop();
    virtual_now_ = when;  // exactly, so that rounding does not pile up
    return thread;
  }

 private:
  [[nodiscard]] double speed() const { return std::min(1.0, capacity_ / static_cast<double>(leaving_.size())); }

  using Leaving = std::pair<double, std::size_t>;
  double capacity_;
  double virtual_now_ = 0.0;
  std::priority_queue<Leaving, std::vector<Leaving>, std::greater<>> leaving_{};
};

enum class Stage { idle, reading, computing, occupied };

struct Worker {
  std::deque<std::size_t> queue{};  ///< batches whose indices were sent to it
  std::size_t batch = 0;
  Stage stage = Stage::idle;
  double stage_began = 0.0;
  double disk_queueing = 0.0;  ///< of the batch being made: time at the disk beyond its demand
  double core_queueing = 0.0;
};

class SharedRun {
 public:
  SharedRun(const LoaderSetup& setup, const SharedMachine& machine, std::span<const BatchWork> work,
            std::span<const StepWork> steps)
      : setup_(setup),
        work_(work),
        steps_(steps),
        cores_(machine.cores),
        disk_(machine.shared_disk ? machine.disk_streams : k_never),
        delay_(k_never),
        workers_(static_cast<std::size_t>(setup.workers)),
        consumer_(workers_.size()),
        blame_(work.size(), Binding::step) {
    run_.delivered_s.resize(work.size());
    run_.wait_s.resize(work.size());
    ready_.resize(work.size(), false);
  }

  LoaderRun run() {
    const std::size_t outstanding = workers_.size() * static_cast<std::size_t>(setup_.prefetch_factor);
    for (std::size_t i = 0; i < outstanding; ++i) issue(i % workers_.size());
    ask();
    while (delivered_ < work_.size() || consumer_busy_) next_event();
    run_.end_s = now_;
    run_.binding = most_often();
    return std::move(run_);
  }

 private:
  void next_event() {
    const std::array<Station*, 3> stations{&cores_, &disk_, &delay_};
    Station* first = nullptr;
    double soonest = k_never;
    for (Station* station : stations) {
      const double in = station->next_leave_in();
      if (in < soonest) {
        soonest = in;
        first = station;
      }
    }
    STALLCAST_CHECK(first != nullptr);
    now_ += soonest;
    for (Station* station : stations) {
      if (station != first) station->advance(soonest);
    }
    const std::size_t thread = first->leave();
    if (thread == consumer_) {
      step_stage_done();
    } else {
      worker_stage_done(thread);
    }
  }

  void issue(std::size_t worker) {
    if (issued_ == work_.size()) return;
    workers_[worker].queue.push_back(issued_++);
    if (workers_[worker].stage == Stage::idle) begin_batch(worker);
  }

  void begin_batch(std::size_t index) {
    Worker& worker = workers_[index];
    worker.batch = worker.queue.front();
    worker.queue.pop_front();
    worker.disk_queueing = 0.0;
    worker.core_queueing = 0.0;
    enter(index, Stage::reading, disk_, work_[worker.batch].read_s);
  }

  void enter(std::size_t index, Stage stage, Station& station, double demand) {
    workers_[index].stage = stage;
    workers_[index].stage_began = now_;
    station.arrive(index, demand);
  }

  void worker_stage_done(std::size_t index) {
    Worker& worker = workers_[index];
    const BatchWork& work = work_[worker.batch];
    const double took = now_ - worker.stage_began;
    if (worker.stage == Stage::reading) {
      worker.disk_queueing = took - work.read_s;
      enter(index, Stage::computing, cores_, work.cpu_s);
    } else if (worker.stage == Stage::computing) {
      worker.core_queueing = took - work.cpu_s;
      enter(index, Stage::occupied, delay_, work.other_s);
    } else {
      finish_batch(index);
    }
  }

  void finish_batch(std::size_t index) {
    Worker& worker = workers_[index];
    const BatchWork& work = work_[worker.batch];
    const double own = work.read_s + work.cpu_s + work.other_s;
    blame_[worker.batch] = Binding::worker;
    if (worker.disk_queueing > std::max(own, worker.core_queueing)) blame_[worker.batch] = Binding::storage;
    if (worker.core_queueing > std::max(own, worker.disk_queueing)) blame_[worker.batch] = Binding::cores;
    ready_[worker.batch] = true;
    if (!setup_.in_order) arrived_.emplace_back(worker.batch, index);
    worker.stage = Stage::idle;
    if (!worker.queue.empty()) begin_batch(index);
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
      if (!ready_[batch]) return;
    } else {
      if (arrived_.empty()) return;
      std::tie(batch, next_worker) = arrived_.front();
      arrived_.pop_front();
    }
    run_.delivered_s[delivered_] = now_;
    run_.wait_s[delivered_] = now_ - asked_;
    ++counts_[static_cast<std::size_t>(now_ > asked_ ? blame_[batch] : Binding::step)];
    asking_ = false;
    consumer_busy_ = true;
    step_computing_ = true;
    cores_.arrive(consumer_, steps_[delivered_].cpu_s);
    ++delivered_;
    issue(next_worker);
  }

  void step_stage_done() {
    if (step_computing_) {
      step_computing_ = false;
      delay_.arrive(consumer_, steps_[delivered_ - 1].device_s);
    } else {
      ask();
    }
  }

  [[nodiscard]] Binding most_often() const {
    const auto most = std::max_element(counts_.begin(), counts_.end());
    return static_cast<Binding>(most - counts_.begin());
  }

  LoaderSetup setup_;
  std::span<const BatchWork> work_;
  std::span<const StepWork> steps_;
  Station cores_;
  Station disk_;
  Station delay_;
  std::vector<Worker> workers_;
  std::size_t consumer_;  ///< its thread number, after the workers
  std::vector<Binding> blame_;
  std::vector<bool> ready_{};
  std::deque<std::pair<std::size_t, std::size_t>> arrived_{};  ///< batch, worker; read only when not in order
  LoaderRun run_{};
  std::array<std::size_t, 4> counts_{};
  double now_ = 0.0;
  double asked_ = 0.0;
  std::size_t issued_ = 0;
  std::size_t delivered_ = 0;
  bool asking_ = false;
  bool consumer_busy_ = false;
  bool step_computing_ = false;
};

/// One thread shares nothing, but less than a whole core (a quota) slows its computing.
LoaderRun run_alone(const SharedMachine& machine, std::span<const BatchWork> work, std::span<const StepWork> steps) {
  const double slower = 1.0 / std::min(1.0, machine.cores);
  std::vector<BatchWork> slow_work(work.begin(), work.end());
  std::vector<StepWork> slow_steps(steps.begin(), steps.end());
  for (BatchWork& batch : slow_work) batch.cpu_s *= slower;
  for (StepWork& step : slow_steps) step.cpu_s *= slower;
  return run_loader(LoaderSetup{}, slow_work, slow_steps);
}

}  // namespace

LoaderRun run_loader_shared(const LoaderSetup& setup, const SharedMachine& machine, std::span<const BatchWork> work,
                            std::span<const StepWork> steps) {
  STALLCAST_CHECK(work.size() == steps.size());
  STALLCAST_CHECK(machine.cores > 0.0 && machine.disk_streams > 0.0);
  if (setup.workers == 0) return run_alone(machine, work, steps);
  STALLCAST_CHECK(setup.workers > 0 && setup.prefetch_factor >= 1);
  return SharedRun(setup, machine, work, steps).run();
}

}  // namespace stallcast::simulation
