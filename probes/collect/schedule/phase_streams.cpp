/// Blocks from memory of streams: nobody knows which file comes next, but that each reader goes on in its own.
#include <algorithm>
#include <string>

#include "probes/collect/schedule/constants.hpp"
#include "probes/collect/schedule/phase_schedule.hpp"

namespace stallcast::collect {

/// All files of a stream are held where that can be done: in the first pass it is not known which these are.
bool PhaseSchedule::goes_by_position(const View& view) const {
  return view.not_ahead && !no_positions_ && (view.passes < 2 || not_all_);
}

void PhaseSchedule::ask_from_here(std::uint64_t turns, std::uint64_t from, const View& view) {
  const std::uint64_t held = turns + turns / 8 + view.in_flight;
  asked_first_ = from + lead_for(held, view);
  asked_end_ = asked_first_ + held;
  if (view.pass_end != UINT64_MAX && asked_end_ > view.pass_end) {
    if (from + turns > view.pass_end) return;  // with the next pass
    asked_first_ = std::min(asked_first_, view.pass_end - turns);
    asked_end_ = view.pass_end;
  }
  // What is under way has been read already, more or less.
  const std::uint64_t skipped = asked_first_ - std::min(asked_first_, view.fastest_turn + view.in_flight);
  if (!files_->ask_from_here(skipped, asked_end_ - view.fastest_turn)) {
    if (++not_yet_ < k_most_not_yet) return end_round();
    return positions_failed("one of its readers is always near the end of a shard", view);
  }
  not_yet_ = 0;
  begin_reading(held, view);
  asked_from_here_ = true;
  asked_all_ = false;
}

/// What its readers have before them cannot be held: all files, then, from the second pass on.
void PhaseSchedule::positions_failed(const std::string& why, const View& view) {
  no_positions_ = true;
  if (view.passes < 2) return wait_for_second_pass(why);
  why_not_cached_ = why;
  end_round();
}

}  // namespace stallcast::collect
