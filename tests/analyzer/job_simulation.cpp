#include "tests/analyzer/job_simulation.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <limits>

namespace stallcast::synthetic {
namespace {

using simulation::BatchWork;
using simulation::LoaderSetup;
using simulation::StepWork;

constexpr double k_never = std::numeric_limits<double>::infinity();

/// What a thread does next: a stage without a core, or one that needs one.
struct Stage {
  double left_s = 0.0;
  bool needs_core = false;
};

struct Thread {
  std::deque<Stage> stages{};
  double delay_s = 0.0;
  bool busy = false;
};

class Play {
 public:
  Play(const LoaderSetup& setup, double cores, double workers_from_s, std::span<const BatchWork> work,
       std::span<const StepWork> steps)
      : setup_(setup),
        cores_(cores),
        work_(work),
        steps_(steps),
        threads_(static_cast<std::size_t>(setup.workers) + 1),
        queues_(static_cast<std::size_t>(setup.workers)) {
    pass_.made.resize(work.size());
    ready_.resize(work.size(), false);
    for (std::size_t worker = 0; worker < queues_.size(); ++worker) {
      threads_[worker].busy = workers_from_s > 0.0;
      if (threads_[worker].busy) threads_[worker].stages.push_back({workers_from_s, false});
      making_.push_back(k_none);
    }
  }

  PlayedPass run() {
    const std::size_t outstanding = queues_.size() * static_cast<std::size_t>(setup_.prefetch_factor);
    for (std::size_t i = 0; i < outstanding; ++i) send(i % queues_.size());
    ask();
    while (pass_.handed.size() < work_.size() || consumer().busy) advance();
    pass_.end_s = now_;
    return std::move(pass_);
  }

 private:
  static constexpr std::size_t k_none = std::numeric_limits<std::size_t>::max();

  Thread& consumer() { return threads_.back(); }

  void advance() {
    double wanting = 0.0;
    for (const Thread& thread : threads_) wanting += thread.busy && thread.stages.front().needs_core ? 1.0 : 0.0;
    const double speed = wanting > cores_ ? cores_ / wanting : 1.0;
    double elapsed = k_never;
    std::size_t first = 0;
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      if (!threads_[i].busy) continue;
      const Stage& stage = threads_[i].stages.front();
      const double needs = stage.left_s / (stage.needs_core ? speed : 1.0);
      if (needs < elapsed) {
        elapsed = needs;
        first = i;
      }
    }
    now_ += elapsed;
    for (Thread& thread : threads_) {
      if (!thread.busy) continue;
      Stage& stage = thread.stages.front();
      stage.left_s = std::max(0.0, stage.left_s - elapsed * (stage.needs_core ? speed : 1.0));
      if (stage.needs_core) thread.delay_s += elapsed * (1.0 - speed);
    }
    threads_[first].stages.pop_front();
    if (threads_[first].stages.empty()) finished(first);
  }

  void finished(std::size_t index) {
    threads_[index].busy = false;
    if (index == queues_.size()) {
      consumer_finished();
      return;
    }
    if (making_[index] != k_none) {
      Making& made = pass_.made[making_[index]];
      made.end_s = now_;
      made.run_delay_s = threads_[index].delay_s;
      ready_[making_[index]] = true;
      arrived_.push_back(making_[index]);
      making_[index] = k_none;
    }
    begin_next(index);
    if (asking_) try_deliver();
  }

  void send(std::size_t worker) {
    if (sent_ == work_.size()) return;
    queues_[worker].push_back(sent_++);
    if (!threads_[worker].busy) begin_next(worker);
  }

  void begin_next(std::size_t worker) {
    if (queues_[worker].empty()) return;
    const std::size_t batch = queues_[worker].front();
    queues_[worker].pop_front();
    making_[worker] = batch;
    pass_.made[batch] = {now_, 0.0, 0.0, worker};
    const BatchWork& work = work_[batch];
    threads_[worker] = {{{work.read_s, false}, {work.cpu_s, true}, {work.other_s, false}}, 0.0, true};
  }

  void ask() {
    if (pass_.handed.size() == work_.size()) return;
    asking_ = true;
    asked_ = now_;
    ready_now_ = arrived_.size();
    if (!queues_.empty()) {
      try_deliver();
      return;
    }
    const BatchWork& work = work_[sent_];
    pass_.made[sent_].begin_s = now_;
    consumer() = {{{work.read_s, false}, {work.cpu_s, true}, {work.other_s, false}}, 0.0, true};
  }

  void consumer_finished() {
    if (asking_) {  // it made the batch itself
      Making& made = pass_.made[sent_];
      made.end_s = now_;
      made.run_delay_s = consumer().delay_s;
      deliver(sent_++);
      return;
    }
    pass_.handed.back().step_delay_s = consumer().delay_s;
    ask();
  }

  void try_deliver() {
    if (arrived_.empty()) return;
    const std::size_t next = setup_.in_order ? pass_.handed.size() : arrived_.front();
    if (!ready_[next]) return;
    arrived_.erase(std::find(arrived_.begin(), arrived_.end(), next));
    const std::size_t worker = setup_.in_order ? sent_ % queues_.size() : pass_.made[next].worker;
    deliver(next);
    send(worker);
  }

  void deliver(std::size_t batch) {
    const StepWork& step = steps_[pass_.handed.size()];
    pass_.handed.push_back({batch, asked_, now_, 0.0, ready_now_});
    asking_ = false;
    consumer() = {{{step.cpu_s, true}, {step.device_s, false}}, 0.0, true};
  }

  LoaderSetup setup_;
  double cores_;
  std::span<const BatchWork> work_;
  std::span<const StepWork> steps_;
  std::vector<Thread> threads_;  ///< the workers, then the consumer
  std::vector<std::deque<std::size_t>> queues_;
  std::vector<std::size_t> making_{};
  std::vector<bool> ready_{};
  std::vector<std::size_t> arrived_{};
  PlayedPass pass_{};
  std::size_t sent_ = 0;
  std::size_t ready_now_ = 0;
  double now_ = 0.0;
  double asked_ = 0.0;
  bool asking_ = false;
};

}  // namespace

PlayedPass play_pass(const LoaderSetup& setup, double cores, double workers_from_s, std::span<const BatchWork> work,
                     std::span<const StepWork> steps) {
  return Play(setup, cores, workers_from_s, work, steps).run();
}

}  // namespace stallcast::synthetic
