/// Processor sharing by virtual time:
/// a station with capacity c that n threads use serves each at the speed min(1, c/n). Its virtual clock runs at that
/// speed, so a thread that arrives with demand d leaves when the virtual clock has advanced by d, whoever comes and
/// goes.
///
/// Example, one core: A arrives at 0 with 2 s, B at 1 with 2 s. Virtual clock 1 at time 1; from there half speed; A
/// leaves at virtual 2 = time 3, B (virtual 1 + 2 = 3) alone again at full speed: time 4.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <queue>
#include <vector>

namespace stallcast::simulation {

inline constexpr double k_never = std::numeric_limits<double>::infinity();

/// Threads being served, each at the speed min(1, capacity / how many there are).
class Station {
 public:
  explicit Station(double capacity) : capacity_(capacity) {}

  /// `width` threads arrive that leave together, each with `demand`.
  void arrive(std::size_t thread, double demand, double width = 1.0) {
    leaving_.push({virtual_now_ + demand, thread, width});
    present_ += width;
  }

  [[nodiscard]] double next_leave_in() const {
    return leaving_.empty() ? k_never : std::max(0.0, leaving_.top().when - virtual_now_) / speed();
  }

  void advance(double elapsed) {
    if (present_ > capacity_) crowded_s_ += elapsed;
    if (!leaving_.empty()) virtual_now_ += elapsed * speed();
  }

  std::size_t leave() {
    const Leaving first = leaving_.top();
    leaving_.pop();
    virtual_now_ = first.when;  // exactly, so that rounding does not pile up
    present_ = leaving_.empty() ? 0.0 : present_ - first.width;
    return first.thread;
  }

  /// How long, since the start, there were more threads than the station serves at full speed.
  [[nodiscard]] double crowded_s() const { return crowded_s_; }

 private:
  [[nodiscard]] double speed() const { return std::min(1.0, capacity_ / present_); }

  struct Leaving {
    double when = 0.0;  ///< by the virtual clock
    std::size_t thread = 0;
    double width = 1.0;

    bool operator>(const Leaving& other) const {
      return when != other.when ? when > other.when : thread > other.thread;
    }
  };
  double capacity_;
  double virtual_now_ = 0.0;
  double crowded_s_ = 0.0;
  double present_ = 0.0;
  std::priority_queue<Leaving, std::vector<Leaving>, std::greater<>> leaving_{};
};

}  // namespace stallcast::simulation
