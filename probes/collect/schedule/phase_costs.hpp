/// What the batches of each state have cost so far, so that what comes can be foreseen.
///
/// Worked example. 40 cold batches took 5 s: 20 more are foreseen to take 2.5 s; 20 cached ones, of which there were
/// none yet, go by the rate as found.
#pragma once

#include <array>
#include <cstdint>

#include "probes/record/control.hpp"

namespace stallcast::collect {

class PhaseCosts {
 public:
  /// `segment`: that the slowest rank is in from now on, at `turn`; nullptr: as found. The time since the last call
  /// goes to the segment of that call, and so do the turns.
  void follow(const record::Segment* segment, std::uint64_t turn, std::uint64_t now_ns);

  /// 0 where no batch of the phase was seen.
  [[nodiscard]] double batches_per_s(record::Phase phase) const;

  /// Foreseen for `batches` of a phase: as they were, else as cached ones were, else at `otherwise` batches/s.
  [[nodiscard]] double seconds_of(record::Phase phase, double batches, double otherwise) const;

 private:
  struct Spent {
    double seconds = 0.0;
    double batches = 0.0;
  };

  std::array<Spent, 16> spent_{};  ///< by phase
  std::uint64_t followed_ns_ = 0;  ///< last call; 0: none yet
  std::uint64_t followed_turn_ = 0;
  record::Phase followed_ = record::Phase::as_is;
};

}  // namespace stallcast::collect
