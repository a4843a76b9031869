/// A made-up job for the tests of the schedule of phases.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "probes/collect/phase_schedule.hpp"

namespace stallcast::collect {

inline constexpr std::uint64_t k_beat_ns = 100'000'000;

/// A job of `ranks` that takes `rate` batches a second; epochs of `epoch` batches (0: not known), which are joined
/// where the schedule asks for that and the job `joins`.
struct Job {
  std::unique_ptr<record::ControlBlock> control = std::make_unique<record::ControlBlock>();
  std::uint64_t now_ns = 1'000'000'000;
  double rate = 10.0;
  std::uint64_t epoch = 0;
  std::uint32_t workers = 2;
  int ranks = 1;
  bool joins = false;
  double cold_rate = 0.0;  ///< in cold blocks; 0: as otherwise
  double waited = 0.0;     ///< share of its time that it waits for batches

  void arm() { put(0.0); }

  void put(double turn) {
    const auto turns = static_cast<std::uint64_t>(turn);
    const std::uint64_t first = epoch == 0 ? 0 : turns / epoch * epoch;
    if (joins && control->joins_passes.load() != 0 && joined_from_ == UINT64_MAX) joined_from_ = first + epoch;
    const bool is_joined = first >= joined_from_;
    for (int rank = 0; rank < ranks; ++rank) {
      record::PhaseSlot& slot = control->phases[rank];
      slot.turns.store(turns);
      slot.pass_first.store(is_joined ? joined_from_ : first);
      slot.pass_end.store(epoch == 0 || is_joined ? UINT64_MAX : first + epoch);
      slot.workers.store(workers);
      slot.prefetch.store(2);
      slot.armed.store(1);
    }
  }

  /// Lets the schedule watch for `seconds`; the job takes its turns meanwhile.
  void run(PhaseSchedule& schedule, double seconds) {
    const auto beats = static_cast<int>(seconds * 10.0);
    for (int beat = 0; beat < beats; ++beat) {
      now_ns += k_beat_ns;
      turn_ += rate_now() / 10.0;
      put(turn_);
      for (int rank = 0; rank < ranks; ++rank) {
        control->ranks[rank].waited_ns += static_cast<std::uint64_t>(waited * static_cast<double>(k_beat_ns));
      }
      schedule.step(now_ns);
    }
  }

  [[nodiscard]] std::vector<record::Segment> published() const {
    return {control->segments, control->segments + control->segment_count.load()};
  }

 private:
  [[nodiscard]] double rate_now() const {
    for (const record::Segment& segment : published()) {
      const bool is_cold = segment.phase == static_cast<std::uint32_t>(record::Phase::cold);
      const auto turn = static_cast<std::uint64_t>(turn_);
      if (is_cold && cold_rate > 0.0 && segment.first <= turn && turn < segment.first + segment.batches)
        return cold_rate;
    }
    return rate;
  }

  double turn_ = 0.0;
  std::uint64_t joined_from_ = UINT64_MAX;
};

inline PhaseWants usual_wants() {
  PhaseWants wants;
  wants.phases = {record::Phase::cold, record::Phase::cached, record::Phase::synthetic, record::Phase::supply_cached};
  wants.extras = false;
  return wants;
}

}  // namespace stallcast::collect
