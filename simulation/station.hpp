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
#include <vector>

namespace stallcast::simulation {

inline constexpr double k_never = std::numeric_limits<double>::infinity();

/// Threads being served, each at the speed min(1, capacity / how many there are). Between its own arrivals and
/// departures nothing has to be done for a station: its next departure is a time that is known. Times do not go back.
class Station {
 public:
  explicit Station(double capacity) : capacity_(capacity) {}

  /// `width` threads arrive at the time `now` that leave together, each with `demand`.
  void arrive(double now, std::size_t thread, double demand, double width = 1.0) {
    advance_to(now);
    insert({virtual_now_ + demand, thread, width});
    change_present(present_ + width);
  }

  /// When the first will leave, if none arrives before; k_never: nobody is there.
  [[nodiscard]] double next_leave() const { return next_leave_; }

  /// Who leaves at the time next_leave().
  std::size_t leave() {
    advance_to(next_leave_);
    const Leaving first = leaving_.back();
    leaving_.pop_back();
    virtual_now_ = first.when;  // exactly, so that rounding does not pile up
    change_present(leaving_.empty() ? 0.0 : present_ - first.width);
    return first.thread;
  }

  /// How long, from the start to the time `now`, there were more threads than the station serves at full speed.
  [[nodiscard]] double crowded_s(double now) const {
    return crowded_s_ + (present_ > capacity_ ? now - changed_ : 0.0);
  }

 private:
  struct Leaving {
    double when = 0.0;  ///< by the virtual clock
    std::size_t thread = 0;
    double width = 1.0;

    bool operator>(const Leaving& other) const {
      return when != other.when ? when > other.when : thread > other.thread;
    }
  };

  /// Those who leave later stay before it: a machine's threads are few, and the newest often leave last.
  void insert(const Leaving& leaving) {
    leaving_.insert(std::upper_bound(leaving_.begin(), leaving_.end(), leaving, std::greater<>()), leaving);
  }

  void advance_to(double now) {
    crowded_s_ = crowded_s(now);
    if (!leaving_.empty()) virtual_now_ += (now - changed_) * speed_;
    changed_ = now;
  }

  void change_present(double present) {
    present_ = present;
    speed_ = std::min(1.0, capacity_ / present_);
    next_leave_ = leaving_.empty() ? k_never : changed_ + std::max(0.0, leaving_.back().when - virtual_now_) / speed_;
  }

  double capacity_;
  double changed_ = 0.0;  ///< when somebody came or went last; what follows is of that time
  double virtual_now_ = 0.0;
  double crowded_s_ = 0.0;
  double present_ = 0.0;
  double speed_ = 1.0;  ///< of the virtual clock
  double next_leave_ = k_never;
  std::vector<Leaving> leaving_{};  ///< who leaves first last
};

}  // namespace stallcast::simulation
