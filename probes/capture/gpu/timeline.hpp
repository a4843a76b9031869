/// What a GPU did, from the intervals of its kernels and copies to bins of time whose number is bounded.
///
/// A kernel that runs does not say how busy a GPU is: streams overlap, and what counts is the union of the intervals.
/// So is a copy to the device only in the way where no kernel hides it. Both need all intervals of a stretch at once,
/// while CUPTI hands them over late and not quite in order. Intervals are therefore kept until a horizon, by which all
/// have come, and folded into bins then.
///
/// Worked example, one bin of 2 ms. Kernels 0.0-0.8 and 0.5-1.0 on two streams, a copy in 0.9-1.4: busy 1.0 ms (not
/// 1.3), copy_in 0.5, exposed 0.4 (1.0-1.4), any 1.4, so 0.6 ms idle.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace stallcast::gpu {

/// compute: kernels, memset, copies within a device. wait: a thread of the host that waits for the device.
enum class Activity : std::uint8_t { compute, copy_in, copy_out, wait };
inline constexpr std::size_t k_activities = 4;

struct Interval {
  Activity what = Activity::compute;
  bool kernel = false;    ///< of compute: a kernel
  bool pageable = false;  ///< of copies: the host's side is not pinned
  std::uint32_t device = 0;
  std::uint64_t begin_ns = 0;  ///< CLOCK_MONOTONIC
  std::uint64_t end_ns = 0;
  std::uint64_t bytes = 0;  ///< of copies
};

/// All times are of unions, at most the bin's width each.
struct Bin {
  std::uint64_t busy_ns = 0;
  std::uint64_t copy_in_ns = 0;
  std::uint64_t exposed_ns = 0;  ///< of copy_in, while nothing computed
  std::uint64_t copy_out_ns = 0;
  std::uint64_t any_ns = 0;  ///< busy or copying; the rest is idle
  std::uint64_t wait_ns = 0;
  std::uint64_t bytes_in = 0;  ///< of copies that began here; likewise below
  std::uint64_t pageable_bytes = 0;
  std::uint32_t kernels = 0;

  [[nodiscard]] bool empty() const { return any_ns == 0 && wait_ns == 0 && kernels == 0 && bytes_in == 0; }
};

/// Bins of one device, one behind the other.
struct Bins {
  std::uint32_t device = 0;
  std::uint64_t begin_ns = 0;
  std::uint64_t width_ns = 0;
  std::vector<Bin> bins{};
};

class Timeline {
 public:
  /// Bins begin 2 ms wide and become ten times as wide after `coarsen_after` of them with something in them, twice: a
  /// day of training stays within bounds.
  explicit Timeline(std::uint64_t begin_ns, std::uint64_t coarsen_after = 60'000);

  /// An interval as it was seen. One that began before what is settled is cut there; `late` counts it.
  void add(const Interval& interval);

  /// Folds everything before `horizon_ns` (rounded down) into bins and forgets it. Bins without anything are left out
  /// where they make a gap: up to settled_ns() what has no bin was idle.
  [[nodiscard]] std::vector<Bins> settle(std::uint64_t horizon_ns);

  [[nodiscard]] std::uint64_t settled_ns() const { return settled_ns_; }
  [[nodiscard]] std::uint64_t width_ns() const { return width_ns_; }
  [[nodiscard]] std::uint64_t late() const { return late_; }
  [[nodiscard]] std::size_t pending() const { return pending_count_; }

 private:
  struct Pending {
    std::array<std::vector<Interval>, k_activities> of{};
  };
  [[nodiscard]] static std::uint64_t earliest(const Pending& pending);
  void fold(std::uint32_t device, Pending& pending, std::uint64_t until_ns, std::vector<Bins>& out) const;

  std::map<std::uint32_t, Pending> devices_{};
  std::uint64_t settled_ns_;
  std::uint64_t width_ns_;
  std::uint64_t made_ = 0;
  std::uint64_t coarsen_after_;
  std::uint64_t late_ = 0;
  std::size_t pending_count_ = 0;
};

}  // namespace stallcast::gpu
