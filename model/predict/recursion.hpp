/// The loader recursion fed by the measured distributions: the answer to single scenarios.
#pragma once

#include <map>
#include <vector>

#include "model/setting/setting.hpp"

namespace stallcast {

struct Played {
  double step_s = 0.0;  ///< from delivery to delivery
  double own_s = 0.0;   ///< of it, the consumer itself, receiving included
  double wait_s = 0.0;  ///< of it, until the consumer had the batch: receiving is part of both
};

/// Plays a fixed, seeded sequence of batches, the same one for every setting, so that two settings differ by what is
/// set and not by luck. Batches and steps vary as measured (or by a gamma distribution where that is not known).
class Recursion {
 public:
  explicit Recursion(const JobModel& job);

  [[nodiscard]] Played play(const ServiceDemands& input, double batch) const;

  /// What fit() has found, for others that play the same job: making and steps relative to what demands() says, one
  /// value a batch, for batches of `batch` samples.
  [[nodiscard]] std::vector<double> making_factors(double batch) const;
  [[nodiscard]] std::vector<double> step_factors() const;
  /// Seconds to receive a batch that is ready; none without workers.
  [[nodiscard]] double receiving_s(const ServiceDemands& input, double batch) const;
  /// What the run as found tells of its storage's limit says nothing of one that a scenario gives.
  [[nodiscard]] double limit_factor(const ServiceDemands& input) const {
    return input.limit_given ? 1.0 : limit_factor_;
  }

  /// From here on stretches what workers and consumer do so that `as_found` gives the measured times: the consumer's
  /// own time, and the wait. A wait of little more than receiving says little about the workers, whose times were
  /// measured themselves: what they do not explain of it stays, as time to receive a batch. For passive profiles: what
  /// blocks say of other settings is not to be stretched by one of them.
  void fit(const ServiceDemands& as_found);

 private:
  /// What a run depends on that nothing limits: seconds of one batch, and who makes and takes them on what.
  struct Unlimited {
    int workers = 0;
    int prefetch = 2;
    bool in_order = true;
    double batch = 0.0;  ///< samples
    double cores = 1.0;
    double read_s = 0.0;  ///< at the shared storage
    double cpu_s = 0.0;
    double other_s = 0.0;
    double receive_s = 0.0;
    double receive_cpu_s = 0.0;
    double device_s = 0.0;  ///< of the step
    double step_cpu_s = 0.0;
    double step_threads = 1.0;
    auto operator<=>(const Unlimited&) const = default;
  };

  /// Nothing limits, but a worker waits for `held_back_s` in the making of each batch.
  [[nodiscard]] Played play_held_back(const ServiceDemands& input, double batch, double held_back_s) const;
  [[nodiscard]] Played run(const Unlimited& question) const;
  [[nodiscard]] std::vector<double> relative_makings(double batch) const;  ///< with a mean near 1

  /// What the workers do, beside the steps as found.
  struct Making {
    bool too_fast = false;
    bool too_slow = false;
  };
  [[nodiscard]] Making making_beside_limit(const ServiceDemands& as_found) const;

  double batch_;
  double measured_step_s_;
  double measured_own_s_;  ///< receiving included
  double making_factor_ = 1.0;
  double limit_factor_ = 1.0;
  double more_receiving_s_ = 0.0;  ///< of a batch of batch_ samples
  double step_factor_ = 1.0;
  std::vector<double> making_{};  ///< relative to their mean, which is 1
  std::vector<double> step_{};
  /// What was played before: many questions differ in nothing but a limit.
  mutable std::map<Unlimited, Played> played_{};
};

}  // namespace stallcast
