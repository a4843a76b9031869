/// The tool's side of a synthetic run: what it would have seen of the job at each tick.
#pragma once

#include <string>
#include <vector>

#include "analyzer/load/run_log.hpp"
#include "tests/analyzer/run_builder.hpp"

namespace stallcast::synthetic {

/// Collects what the job does, in any order, and writes the log of it. Times are seconds since the start.
class Watched {
 public:
  explicit Watched(const JobSpec& spec) : spec_(spec) {}

  void used_cpu(double at_s, double seconds) { happened_.push_back({.at_s = at_s, .cpu_s = seconds}); }
  void read(double at_s, double bytes) { happened_.push_back({.at_s = at_s, .bytes = bytes}); }
  void stepped(int rank, double at_s) { happened_.push_back({.at_s = at_s, .rank = rank, .steps = 1}); }
  void delivered(int rank, double at_s, int samples, double waited_s) {
    happened_.push_back({.at_s = at_s, .rank = rank, .samples = samples, .waited_s = waited_s});
  }
  void waited_for_core(int rank, double at_s, double seconds) {
    happened_.push_back({.at_s = at_s, .rank = rank, .delay_s = seconds});
  }

  /// Ticks every spec.tick_s and where recording went off or on.
  [[nodiscard]] RunLog log();

 private:
  struct Happened {
    double at_s = 0.0;
    int rank = -1;
    double cpu_s = 0.0;
    double bytes = 0.0;
    int samples = 0;
    double waited_s = 0.0;
    double delay_s = 0.0;
    int steps = 0;
  };
  struct Sums {
    double cpu_s = 0.0;
    double bytes = 0.0;
    std::vector<RankTick> ranks{};
    std::vector<double> delay_s{};
  };

  void add(const Happened& what, Sums& sums) const;
  [[nodiscard]] Tick tick_of(double at_s, const Sums& sums) const;
  [[nodiscard]] std::vector<double> tick_times() const;

  const JobSpec& spec_;
  std::vector<Happened> happened_{};
};

}  // namespace stallcast::synthetic
