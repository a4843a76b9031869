#include "probes/collect/pages/page_holder.hpp"

#include <fmt/format.h>

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <system_error>
#include <utility>

#include "probes/collect/pages/constants.hpp"
#include "probes/collect/pages/held_part.hpp"
#include "probes/collect/system/free_memory.hpp"

namespace stallcast::collect {
namespace {

/// Signals are the main thread's.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

/// A thread that gets no signals; not joinable if there can be no further one.
template <class Body>
std::thread start_thread(Body body) {
  const SignalsBlocked blocked;
  try {
    return std::thread(std::move(body));
  } catch (const std::system_error&) {
    return {};
  }
}

std::uint64_t known_bytes(const FileStretch& part) {
  if (!part.is_whole()) return part.bytes;
  return part.size_bytes != UINT64_MAX ? part.size_bytes : 0;
}

}  // namespace

/// One hold: its parts, and how far it got. Parts are read by several threads, each of them by one.
struct PageHolder::Work {
  std::vector<FileStretch> parts{};
  std::vector<HeldPart> held{};
  std::uint64_t limit_bytes = 0;  ///< the caller's
  std::size_t readers = 1;
  HoldBudget budget{};
  std::atomic<bool> stop{false};
  std::atomic<bool> too_much{false};
  std::atomic<std::size_t> next{0};
  std::atomic<std::int64_t> skipped_parts{0};
  std::atomic<std::uint64_t> skipped_bytes{0};
  std::atomic<std::uint64_t> locked_bytes{0};
  std::atomic<std::uint64_t> gone_bytes{0};

  void skip(std::size_t at) {
    skipped_parts.fetch_add(1, std::memory_order_relaxed);
    skipped_bytes.fetch_add(known_bytes(parts[at]), std::memory_order_relaxed);
  }

  /// Why it is not to be begun; empty: it may.
  std::string refusal() {
    if (parts.size() > k_most_parts) {
      return fmt::format("{} parts of files, and at most {} can be held", parts.size(), k_most_parts);
    }
    const auto free = read_free_memory("/");
    if (!free) return "the kernel does not say how much memory is free";
    budget.limit_bytes = *free / 4;
    if (limit_bytes != 0) budget.limit_bytes = std::min(budget.limit_bytes, limit_bytes);
    std::uint64_t wanted = 0;
    for (const FileStretch& part : parts) wanted += known_bytes(part);
    return wanted > budget.limit_bytes ? beyond_limit() : "";
  }

  [[nodiscard]] std::string beyond_limit() const {
    return fmt::format("the files need more than the {} bytes that may be held", budget.limit_bytes);
  }

  /// One thread's share.
  void read() {
    for (std::size_t at = next.fetch_add(1); at < parts.size() && !stop.load(); at = next.fetch_add(1)) {
      const HoldOutcome outcome = held[at].hold(parts[at], budget);
      if (outcome == HoldOutcome::skipped) skip(at);
      if (outcome == HoldOutcome::held && held[at].is_locked()) locked_bytes.fetch_add(held[at].bytes());
      if (outcome == HoldOutcome::too_much) {
        too_much.store(true);
        return;
      }
      if (too_much.load()) return;
    }
  }

  void read_all() {
    held.resize(parts.size());
    budget.stop = &stop;
    std::vector<std::thread> others;
    for (std::size_t i = 1; i < std::min(readers, parts.size()); ++i) {
      others.push_back(start_thread([this] { read(); }));
    }
    read();
    for (std::thread& reader : others) {
      if (reader.joinable()) reader.join();
    }
  }

  /// Why what was read is not enough; empty: it is.
  [[nodiscard]] std::string shortfall() const {
    if (too_much.load()) return beyond_limit();
    const auto skipped = static_cast<std::uint64_t>(skipped_parts.load());
    const std::uint64_t bytes = skipped_bytes.load();
    const std::uint64_t all = budget.read_bytes.load() + bytes;
    if (skipped * 50 <= parts.size() && bytes * 50 <= all) return "";
    return fmt::format("{} of {} parts of files are gone, changed or unreadable", skipped, parts.size());
  }

  /// Touches what is not locked. Why it can no longer be held; empty: it is.
  std::string keep() {
    std::uint64_t gone = 0;
    for (std::size_t at = 0; at < held.size() && !stop.load(); ++at) {
      if (!held[at].keep(stop, gone)) {
        skip(at);
        held[at].unmap();
      }
    }
    gone_bytes.fetch_add(gone);
    const auto free = read_free_memory("/");
    if (free && *free < std::max(k_least_left_bytes, budget.read_bytes.load() / 8)) return "memory has become short";
    return shortfall();
  }
};

PageHolder::~PageHolder() {
  if (!thread_.joinable()) return;
  ask({.kind = Kind::end});
  thread_.join();
}

void PageHolder::ask(Request request) {
  const std::lock_guard lock(mutex_);
  if (work_ != nullptr) work_->stop.store(true);
  request_ = std::move(request);
  asked_.notify_all();
}

void PageHolder::hold(std::vector<FileStretch> parts, std::uint64_t limit_bytes, std::size_t readers) {
  if (!thread_.joinable()) thread_ = start_thread([this] { run(); });
  auto work = std::make_shared<Work>();
  work->parts = std::move(parts);
  work->limit_bytes = limit_bytes;
  work->readers = readers;
  if (!thread_.joinable()) {
    phase_ = HoldPhase::failed;
    reason_ = "no further thread can be started";
    return;
  }
  ask({.kind = Kind::hold, .work = std::move(work)});
}

void PageHolder::release(HeldPages pages) {
  if (thread_.joinable()) ask({.kind = Kind::release, .pages = pages});
}

void PageHolder::fill(HoldState& state) const {
  state.phase = phase_;
  state.reason = reason_;
  if (request_ && request_->kind == Kind::hold) state.phase = HoldPhase::reading;
  if (work_ == nullptr) return;
  state.bytes = work_->budget.read_bytes.load();
  state.locked_bytes = work_->locked_bytes.load();
  state.gone_bytes = work_->gone_bytes.load();
  state.parts = static_cast<std::int64_t>(work_->parts.size());
  state.skipped_parts = work_->skipped_parts.load();
}

HoldState PageHolder::state() const {
  const std::lock_guard lock(mutex_);
  HoldState state;
  fill(state);
  return state;
}

HoldState PageHolder::wait() {
  std::unique_lock lock(mutex_);
  served_.wait(lock, [this] { return !request_ && !serving_; });
  HoldState state;
  fill(state);
  return state;
}

void PageHolder::let_go(Work& work, HeldPages pages) {
  for (HeldPart& part : work.held) part.unmap();
  for (std::size_t at = 0; pages == HeldPages::drop && at < work.held.size(); ++at) {
    work.held[at].drop(work.parts[at].path);
  }
  work.held.clear();
}

void PageHolder::serve(Request request, std::unique_lock<std::mutex>& lock) {
  if (std::shared_ptr<Work> before = std::exchange(work_, nullptr); before != nullptr) {
    lock.unlock();
    let_go(*before, request.pages);
    lock.lock();
  }
  reason_.clear();
  phase_ = HoldPhase::idle;
  if (request.kind != Kind::hold) return;
  phase_ = HoldPhase::reading;
  const std::shared_ptr<Work> work = work_ = std::move(request.work);
  if (request_) work->stop.store(true);  // asked for something else meanwhile
  lock.unlock();
  std::string reason = work->refusal();
  if (reason.empty()) {
    work->read_all();
    reason = work->stop.load() ? "" : work->shortfall();
  }
  if (!reason.empty()) let_go(*work, HeldPages::drop);
  lock.lock();
  reason_ = reason;
  phase_ = !reason.empty() ? HoldPhase::failed : work->stop.load() ? HoldPhase::idle : HoldPhase::held;
}

/// Until something else is asked for, or it can no longer be held.
void PageHolder::hold_on(std::unique_lock<std::mutex>& lock) {
  while (phase_ == HoldPhase::held && !asked_.wait_for(lock, std::chrono::milliseconds(k_hold_look_every_ms),
                                                       [this] { return request_.has_value(); })) {
    const std::shared_ptr<Work> work = work_;
    lock.unlock();
    const std::string reason = work->keep();
    if (!reason.empty()) let_go(*work, HeldPages::drop);
    lock.lock();
    if (reason.empty()) continue;
    reason_ = reason;
    phase_ = HoldPhase::failed;
  }
}

void PageHolder::run() {
  std::unique_lock lock(mutex_);
  for (bool goes_on = true; goes_on;) {
    asked_.wait(lock, [this] { return request_.has_value(); });
    Request request = std::move(*request_);
    request_.reset();
    goes_on = request.kind != Kind::end;
    serving_ = true;
    serve(std::move(request), lock);
    serving_ = false;
    served_.notify_all();
    hold_on(lock);
  }
}

}  // namespace stallcast::collect
