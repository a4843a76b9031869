#include "model/analytic/closed_form.hpp"

#include <algorithm>
#include <cmath>

#include "model/analytic/constants.hpp"

namespace stallcast {
namespace {

/// Shares of time that a worker computes, a worker reads, the step computes, the consumer computes to receive a batch.
struct Presence {
  double computing = 0.0;
  double reading = 0.0;
  double stepping = 0.0;
  double receiving = 0.0;

  Presence operator+(const Presence& o) const {
    return {computing + o.computing, reading + o.reading, stepping + o.stepping, receiving + o.receiving};
  }
  Presence operator-(const Presence& o) const { return *this + o * -1.0; }
  Presence operator*(double f) const { return {computing * f, reading * f, stepping * f, receiving * f}; }
  [[nodiscard]] double dot(const Presence& o) const {
    return computing * o.computing + reading * o.reading + stepping * o.stepping + receiving * o.receiving;
  }
  [[nodiscard]] double size() const {
    return std::abs(computing) + std::abs(reading) + std::abs(stepping) + std::abs(receiving);
  }
  [[nodiscard]] Presence within_bounds() const {
    return {std::clamp(computing, 0.0, 1.0), std::clamp(reading, 0.0, 1.0), std::clamp(stepping, 0.0, 1.0),
            std::clamp(receiving, 0.0, 1.0)};
  }
};

/// How long everything takes among so many others.
struct Met {
  double core_slow = 1.0;
  double step_slow = 1.0;
  double receive_slow = 1.0;
  double disk_wait_s = 0.0;
  double own_s = 0.0;
  double making_s = 0.0;
  double step_s = 0.0;
};

/// The shared disk: between what a random arrival meets (1 + n p) and the mean speed over time. Read times that vary
/// little keep the workers out of each other's way more than random arrivals would.
double disk_crowding(int n, double p) {
  if (n == 0 || p <= 0.0) return 1.0;
  const double met_at_random = 1.0 + n * p;
  const double mean_speed = (1.0 - std::pow(1.0 - p, n + 1)) / ((n + 1) * p);
  return std::sqrt(met_at_random / mean_speed);
}

/// Limits of what is shared, whatever the order of things: cores over CPU seconds, storage over service demand.
double slowest_shared(const ServiceDemands& in) {
  return std::max({(in.cpu_s + in.receive_cpu_s + in.step_cpu_s * in.step_threads) / in.cores, in.disk_s, in.limit_s,
                   in.beyond_s, in.prep_elsewhere_s});
}

class SteadyState {
 public:
  SteadyState(const ServiceDemands& input, StallCurves& curves)
      : in_(input),
        curve_(curves.find({in_.workers, in_.prefetch, in_.in_order, in_.cv_make, in_.cv_step})),
        floor_(slowest_shared(in_)),
        cores_shared_(in_.workers + in_.step_threads > in_.cores && in_.cpu_s + in_.step_cpu_s > 0.0) {}

  /// Fixed point of "who is there" by Anderson mixing of depth one: plain iteration swings where two stations are
  /// equally loaded, and the secant through the last two residuals settles it in a few steps.
  Met solve() {
    Presence there;
    Met met = meet(there);
    if (!cores_shared_ && (in_.disk_s <= 0.0 || in_.workers == 1)) return met;
    Presence before;
    Presence residual_before;
    for (int i = 0; i < k_most_iterations; ++i) {
      const Presence residual = presence(met) - there;
      if (residual.size() < k_presence_tolerance) break;
      double mix = 0.0;
      if (i > 0) {
        const Presence change = residual - residual_before;
        mix = std::clamp(residual.dot(change) / std::max(change.dot(change), 1e-30), -k_most_mixing, k_most_mixing);
      }
      const Presence ahead = there + residual * k_damping;
      const Presence ahead_before = before + residual_before * k_damping;
      before = there;
      residual_before = residual;
      there = (ahead * (1.0 - mix) + ahead_before * mix).within_bounds();
      met = meet(there);
    }
    return met;
  }

 private:
  [[nodiscard]] Met meet(const Presence& there) const {
    Met met;
    const int others = in_.workers - 1;
    if (cores_shared_) {
      const double alone = mean_crowding(others, there.computing, 0.0, in_.cores);
      const double with_step = mean_crowding(others, there.computing, in_.step_threads, in_.cores);
      const double with_receiving = mean_crowding(others, there.computing, 1.0, in_.cores);
      met.core_slow = alone + there.stepping * (with_step - alone) + there.receiving * (with_receiving - alone);
      met.step_slow = mean_crowding(in_.workers, there.computing, in_.step_threads - 1.0, in_.cores);
      met.receive_slow = mean_crowding(in_.workers, there.computing, 0.0, in_.cores);
    }
    met.disk_wait_s = in_.disk_s * disk_crowding(others, there.reading);
    const double receiving_s = in_.receive_s + std::min(in_.receive_cpu_s, in_.receive_s) * (met.receive_slow - 1.0);
    met.own_s = in_.device_s + receiving_s + in_.step_cpu_s * met.step_slow;
    met.making_s = in_.other_s + in_.latency_s + in_.cpu_s * met.core_slow + met.disk_wait_s;
    const double every = met.making_s / in_.workers;
    // A step of no time at all: take one that is far from binding, so that the curve's far end gives the answer.
    const double own = std::max(met.own_s, every / k_far_from_binding);
    met.step_s = std::max(floor_, own > 0.0 ? own * curve_.relative_step(every / own) : 0.0);
    return met;
  }

  [[nodiscard]] Presence presence(const Met& met) const {
    const double each = met.step_s * in_.workers;
    const double stepping = std::min(1.0, in_.step_cpu_s * met.step_slow / met.step_s);
    const double receiving = std::min(in_.receive_cpu_s, in_.receive_s) * met.receive_slow / met.step_s;
    return {std::min(1.0, in_.cpu_s * met.core_slow / each), std::min(1.0, met.disk_wait_s / each), stepping,
            std::min(receiving, 1.0 - stepping)};
  }

  const ServiceDemands& in_;
  StallCurve curve_;
  double floor_;
  bool cores_shared_;
};

StepTimes evaluate_alone(const ServiceDemands& in) {
  StepTimes result;
  result.own_s = in.device_s + in.step_cpu_s * std::max(1.0, in.step_threads / in.cores);
  result.core_slow = std::max(1.0, 1.0 / in.cores);
  result.disk_wait_s = in.disk_s;
  result.making_s = in.other_s + in.latency_s + in.cpu_s * result.core_slow + in.disk_s;
  result.step_s = std::max({result.own_s + result.making_s, in.limit_s, in.beyond_s});
  return result;
}

}  // namespace

double mean_crowding(int n, double p, double present, double servers) {
  if (n + 1.0 + present <= servers) return 1.0;
  const double chance = std::clamp(p, 0.0, k_surely_present);
  double probability = 1.0;
  for (int i = 0; i < n; ++i) probability *= 1.0 - chance;
  if (probability < 1e-280) return std::max(1.0, (1.0 + present + n * chance) / servers);  // many: hardly any spread
  const double odds = chance / (1.0 - chance);
  double speed = 0.0;
  for (int q = 0; q <= n; ++q) {
    const double threads = 1.0 + present + q;
    speed += probability * (threads <= servers ? 1.0 : servers / threads);
    probability *= odds * (n - q) / (q + 1.0);
  }
  return 1.0 / speed;
}

StepTimes evaluate(const ServiceDemands& input, StallCurves& curves) {
  if (input.workers == 0) return evaluate_alone(input);
  const Met met = SteadyState(input, curves).solve();
  return {met.step_s, met.own_s, met.making_s, met.core_slow, met.disk_wait_s};
}

}  // namespace stallcast
