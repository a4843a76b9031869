#include "probes/capture/gpu/records.hpp"

#include <algorithm>
#include <new>

#include "core/clock.hpp"

namespace stallcast::gpu {
namespace {

constexpr std::size_t k_buffer_bytes = 1U << 20U;
constexpr std::size_t k_most_buffers = 16;
constexpr std::size_t k_most_pending = 400'000;  ///< intervals of 56 bytes
/// A window in which the job did something else than take batches (validation, a checkpoint) is none of its steps.
constexpr std::uint64_t k_longest_window_ns = 30'000'000'000;

}  // namespace

void Records::give_buffer(std::uint8_t** buffer, std::size_t* size) {
  std::lock_guard lock(mutex_);
  *buffer = nullptr;
  *size = 0;
  if (free_.empty()) {
    if (buffers_.size() >= k_most_buffers) return;
    // operator new aligns to 16 bytes, CUPTI wants 8.
    buffers_.push_back(std::unique_ptr<std::uint8_t[]>(new (std::nothrow) std::uint8_t[k_buffer_bytes]));
    if (!buffers_.back()) return buffers_.pop_back();
    free_.push_back(buffers_.back().get());
  }
  *buffer = free_.back();
  *size = k_buffer_bytes;
  free_.pop_back();
}

void Records::take_buffer(const Cupti& cupti, CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                          std::size_t bytes, std::int64_t clock_offset_ns) {
  if (buffer == nullptr) return;
  std::vector<Interval> intervals;
  std::uint64_t records = 0;
  {
    std::lock_guard lock(decoding_);
    CUpti_Activity* record = nullptr;
    for (; cupti.next_record(buffer, bytes, &record) == CUPTI_SUCCESS; ++records) {
      if (const auto interval = decoder_.decode(*record, clock_offset_ns)) intervals.push_back(*interval);
    }
  }
  std::size_t dropped = 0;
  if (cupti.dropped_records(context, stream, &dropped) != CUPTI_SUCCESS) dropped = 0;
  std::lock_guard lock(mutex_);
  coverage_.records += records;
  coverage_.dropped += dropped;
  for (const Interval& interval : intervals) add(interval);
  free_.push_back(buffer);
}

void Records::add(const Interval& interval) {
  if (timeline_.pending() >= k_most_pending) {
    ++coverage_.dropped;
    return;
  }
  if (interval.what != Activity::wait) devices_.insert(interval.device);
  if (interval.kernel) {
    ++kernels_;
    for (Traced& window : traced_) {
      if (interval.begin_ns >= window.open_ns && interval.begin_ns < window.end_ns)
        window.first_kernel_ns = std::min(window.first_kernel_ns, interval.begin_ns);
    }
  }
  timeline_.add(interval);
}

void Records::begin_window(std::uint64_t now_ns) {
  std::lock_guard lock(mutex_);
  traced_.push_back({.open_ns = now_ns, .late = timeline_.late()});
  ++coverage_.opened;
}

void Records::end_window(std::uint64_t now_ns) {
  std::lock_guard lock(mutex_);
  if (!traced_.empty()) traced_.back().end_ns = std::min(traced_.back().end_ns, now_ns);
}

bool Records::are_awaited() {
  std::lock_guard lock(mutex_);
  return !traced_.empty();
}

std::set<std::uint32_t> Records::new_devices() {
  std::set<std::uint32_t> found;
  std::lock_guard lock(mutex_);
  for (const std::uint32_t device : devices_) {
    if (described_.insert(device).second) found.insert(device);
  }
  return found;
}

std::string Records::told_until(std::uint64_t horizon_ns, bool in_windows, bool over) {
  std::string text;
  std::lock_guard lock(mutex_);
  for (const Bins& bins : timeline_.settle(horizon_ns)) text += to_line(bins);
  coverage_.until_ns = timeline_.settled_ns();
  coverage_.late = timeline_.late();
  if (in_windows) text += settled_windows(over);
  return text + to_line(coverage_);
}

std::string Records::settled_windows(bool over) {
  std::string text;
  const std::uint64_t width = timeline_.width_ns();
  const std::uint64_t settled = timeline_.settled_ns();
  for (Traced& window : traced_) {
    if (window.end_ns > settled && !over) continue;
    const std::uint64_t end = std::min(window.end_ns, monotonic_ns());
    const std::uint64_t told_end = std::min(end, settled) / width * width;
    const bool has_begin = window.first_kernel_ns != UINT64_MAX;
    const std::uint64_t begin = has_begin ? (window.first_kernel_ns / width + 1) * width : UINT64_MAX;
    const bool is_whole = window.late == timeline_.late() && end - window.open_ns < k_longest_window_ns;
    // One that tells nothing took its time from the job all the same.
    text += to_line(begin < told_end && is_whole ? Window{window.open_ns, begin, told_end}
                                                 : Window{window.open_ns, end, end});
    window.end_ns = 0;
  }
  std::erase_if(traced_, [](const Traced& window) { return window.end_ns == 0; });
  return text;
}

}  // namespace stallcast::gpu
