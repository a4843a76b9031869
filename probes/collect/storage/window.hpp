/// What the streams of one window of a storage probe share. Internal to storage_reader, storage_threads, storage_uring.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/clock.hpp"
#include "probes/collect/storage/constants.hpp"
#include "probes/collect/storage/reader.hpp"

namespace stallcast::collect::storage {

inline constexpr std::uint64_t k_alignment = 4096;

/// One read that has ended.
struct Entry {
  std::uint64_t end_ns;
  float seconds;
  std::uint32_t bytes;
};

struct Window {
  const std::vector<ReadTask>& tasks;
  const WindowPlan& plan;
  std::uint64_t begin_ns = 0;
  std::uint64_t deadline_ns = 0;
  std::uint64_t give_up_ns = 0;
  std::atomic<std::size_t> next{0};
  std::atomic<std::uint64_t> stop_ns{UINT64_MAX};  ///< the first stream that found nothing to begin
  std::atomic<std::int64_t> failed{0};

  void stop_at(std::uint64_t now_ns) {
    std::uint64_t seen = stop_ns.load();
    while (now_ns < seen && !stop_ns.compare_exchange_weak(seen, now_ns)) {
    }
  }

  /// The moment at which a stream that is free at `now_ns` goes on.
  [[nodiscard]] std::uint64_t after_pause(std::uint64_t now_ns) const {
    const auto pause_ns = static_cast<std::uint64_t>(plan.pause_s * 1e9);
    if (pause_ns == 0) return now_ns;
    const std::uint64_t stretch = (now_ns - begin_ns) / pause_ns;
    return stretch % 2 == 0 ? now_ns : begin_ns + (stretch + 1) * pause_ns;
  }

  /// The next task, or nothing: the time is up, or all are done.
  const ReadTask* take() {
    const std::uint64_t free_ns = monotonic_ns();
    const std::uint64_t now_ns = after_pause(free_ns);
    if (now_ns > free_ns) std::this_thread::sleep_for(std::chrono::nanoseconds(now_ns - free_ns));
    const bool in_time = now_ns < deadline_ns;
    const std::size_t place = in_time ? next.fetch_add(1) : 0;
    const bool cycle = plan.state == record::StorageState::resident;
    if (in_time && place < k_most_window_reads && (cycle || place < tasks.size())) return &tasks[place % tasks.size()];
    stop_at(now_ns);
    return nullptr;
  }
};

/// How many bytes to ask for where `room` are wanted: past the page cache whole blocks, which end at the end of file.
[[nodiscard]] inline std::uint64_t asked_bytes(const WindowPlan& plan, std::uint64_t room) {
  return plan.direct ? (room + k_alignment - 1) / k_alignment * k_alignment : room;
}

[[nodiscard]] int open_flags(const WindowPlan& plan);

/// A thread for each read in flight, that does nothing else between two reads: as the workers of a loader that is
/// bound by storage. A buffer of k_large_block_bytes for each.
void read_by_threads(Window& window, std::span<char* const> buffers, std::vector<Entry>& log);

/// A queue of the kernel's (io_uring) that one thread keeps filled: what the storage gives, less of what threads cost.
class ReadQueue {
 public:
  /// Null where the kernel gives none (its version, a sysctl, a container's filter), with `reason`.
  [[nodiscard]] static std::unique_ptr<ReadQueue> make(std::string& reason);

  ReadQueue() = default;
  virtual ~ReadQueue() = default;
  ReadQueue(const ReadQueue&) = delete;
  ReadQueue& operator=(const ReadQueue&) = delete;

  /// As read_by_threads. A plan with pauses is not for it.
  virtual void read(Window& window, std::span<char* const> buffers, std::vector<Entry>& log) = 0;
};

}  // namespace stallcast::collect::storage
