/// PyTorch's own bookkeeping, tick by tick, as its Python code does it: slow, obvious, and independent of the
/// recursion.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

namespace stallcast::reference {

struct Delivery {
  std::int64_t delivered = 0;
  std::int64_t wait = 0;
};

/// A DataLoader iterator with whole-numbered times: making[i] and step[i] in ticks (at least 1).
class TickLoader {
 public:
  TickLoader(int workers, int prefetch, bool in_order, std::vector<int> making, std::vector<int> step)
      : prefetch_(prefetch), in_order_(in_order), making_(std::move(making)), step_(std::move(step)) {
    queues_.resize(static_cast<std::size_t>(workers));
    current_.resize(queues_.size());
    outstanding_.assign(queues_.size(), 0);
    for (int i = 0; i < workers * prefetch; ++i) try_put_index();
  }

  std::vector<Delivery> run() {
    std::vector<Delivery> deliveries;
    std::int64_t asked = 0;
    for (std::int64_t now = 0; deliveries.size() < making_.size(); ++now) {
      work(now);
      while (now >= asked && deliveries.size() < making_.size()) {
        if (!next_data()) break;
        deliveries.push_back({now, now - asked});
        asked = now + step_[deliveries.size() - 1];
      }
    }
    return deliveries;
  }

 private:
  struct Making {
    std::size_t batch = 0;
    std::int64_t ends = 0;
  };

  void try_put_index() {
    if (sent_ == making_.size()) return;
    for (std::size_t tried = 0; tried < queues_.size(); ++tried) {
      const std::size_t worker = cycle_++ % queues_.size();
      if (in_order_ || outstanding_[worker] < prefetch_) {
        queues_[worker].push_back(sent_);
        worker_of_[sent_++] = worker;
        ++outstanding_[worker];
        return;
      }
    }
  }

  /// Finished batches go to the data queue at tick `now`; a free worker takes its next index in the same tick.
  void work(std::int64_t now) {
    for (std::size_t worker = 0; worker < queues_.size(); ++worker) {
      if (current_[worker] && current_[worker]->ends == now) {
        data_queue_.push_back(current_[worker]->batch);
        current_[worker].reset();
      }
    }
    start_free_workers(now);
    now_ = now;
  }

  void start_free_workers(std::int64_t now) {
    for (std::size_t worker = 0; worker < queues_.size(); ++worker) {
      if (current_[worker] || queues_[worker].empty()) continue;
      const std::size_t batch = queues_[worker].front();
      queues_[worker].pop_front();
      current_[worker] = Making{batch, now + making_[batch]};
    }
  }

  /// One round of _next_data: true when a batch was handed over.
  bool next_data() {
    while (true) {
      if (in_order_ && stored_.count(received_) != 0) return process(received_);
      if (data_queue_.empty()) return false;
      const std::size_t batch = data_queue_.front();
      data_queue_.pop_front();
      if (in_order_ && batch != received_) {
        stored_[batch] = true;
        continue;
      }
      return process(batch);
    }
  }

  bool process(std::size_t batch) {
    if (in_order_) ++received_;
    --outstanding_[worker_of_[batch]];
    try_put_index();
    start_free_workers(now_);
    return true;
  }

  int prefetch_;
  bool in_order_;
  std::vector<int> making_;
  std::vector<int> step_;
  std::vector<std::deque<std::size_t>> queues_{};
  std::vector<std::optional<Making>> current_{};
  std::vector<int> outstanding_{};
  std::map<std::size_t, std::size_t> worker_of_{};
  std::map<std::size_t, bool> stored_{};
  std::deque<std::size_t> data_queue_{};
  std::size_t sent_ = 0;
  std::size_t received_ = 0;
  std::size_t cycle_ = 0;
  std::int64_t now_ = 0;
};

}  // namespace stallcast::reference
