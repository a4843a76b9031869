/// Files of the next round's group from memory, read while those of this round's are in use.
///
/// A job of slow steps that waits for storage leaves it alone in bursts and in blocks from memory: what is read then
/// costs it nothing. So that it is known where the next group lies, the cold one before it is published with this one.
///
///   cold 0, burst | read | from memory 0 | gap | cold 1, burst | from memory 1 | gap | cold 2, burst | ...
///                   (0)    (1)             (1)           (2)     (2)             (2)           (3)
#include <algorithm>
#include <cmath>
#include <utility>

#include "probes/collect/schedule/constants.hpp"
#include "probes/collect/schedule/phase_schedule.hpp"

namespace stallcast::collect {

using record::Phase;

bool PhaseSchedule::reads_in_gaps(const View& view) const {
  return is_slow(view) && waited_share_ >= k_hardly_waited_share;
}

/// The next round's cold group, and behind its burst a group from memory, whose files are to be read before the cold
/// one begins: it needs fewer of them, as nothing else is under way behind a burst.
void PhaseSchedule::publish_next_cold(const View& view) {
  if (!reads_in_gaps(view) || asked_all_ || asked_from_here_ || !wants(Phase::cold) || spans_) return;
  if (files_->are_shared()) return;  // cold batches would find some of theirs held
  Group cold = cold_group(view);
  Group cached = cached_group(view, true);
  const std::uint64_t asked = turns_of(cached) + k_spare_turns;
  // Beyond what is held for this round's group: some of its files may be there to the last.
  const std::uint64_t first = std::max(next_turn_ + gap_for(asked, view), held_end_);
  const std::uint64_t end = first + turns_of(cold);
  if (view.pass_end == UINT64_MAX || end + asked > view.pass_end || bursts(Phase::cold, view) == 0) return;
  if (place(cold, first, view) != first || !has_time_for(cold, view)) return;
  publish_cold(cold);
  cached_next_ = true;
  next_ = Next::wanted;
  next_group_ = std::move(cached);
  next_first_ = end;
  next_end_ = end + asked;
}

/// Turns as found between the two, beside which is read what could not be read before: while the job is given a burst
/// and a block from memory, until its workers begin with cold batches. More than that, as what is not held by then has
/// been read for nothing.
///
/// Worked example. 46 turns of files; 2.6 turns/s as found, 37 % of them waited: a step takes 0.24 s. 16 turns in a
/// burst and 44 from memory, the last 16 of which come while cold batches are made: 10.7 s, in which 28 are read. The
/// other 18 take 3.6 turns; 5 are left to them.
std::uint64_t PhaseSchedule::gap_for(std::uint64_t asked, const View& view) const {
  const bool behind_burst = cold_.end >= held_first_;
  const std::uint64_t before = behind_burst ? burst_batches(Phase::cold, view) : view.workers;
  const std::uint64_t from = std::max(view.fastest_turn, held_first_ - std::min(held_first_, before));
  const std::uint64_t to = std::max(from, held_until_turn_ - view.in_flight);
  const double step_s = (1.0 - waited_share_) / rate_as_found_;
  const double rate = costs_.batches_per_s(Phase::cached);
  const std::uint64_t held = std::clamp(held_first_, from, to);
  const double alone_s =
      static_cast<double>(held - from) * step_s + static_cast<double>(to - held) * (rate > 0.0 ? 1.0 / rate : step_s);
  const double left = static_cast<double>(asked) - rate_as_found_ * alone_s;
  return static_cast<std::uint64_t>(std::ceil(std::max(0.0, left) * k_files_beside_reading * k_gap_slack));
}

bool PhaseSchedule::rests(const ColdTurns& cold, const View& view) {
  return view.slowest_turn >= cold.end || (cold.burst > 0 && view.ready >= cold.burst);
}

/// Whether the job leaves storage alone from now on: in the burst before the block from memory that comes next, or,
/// where none is right before it, once all that is under way but one batch a worker is of that.
bool PhaseSchedule::leaves_storage(const View& view) const {
  const bool behind_burst = cold_before_.end >= held_first_;
  return rests(cold_before_, view) && (behind_burst || view.slowest_turn + view.workers >= held_first_);
}

/// Asks for the next round's files once the cold batches before them are made, and gives them up where they are not
/// held while workers still have a batch each to make before those that count behind.
void PhaseSchedule::follow_next(const View& view) {
  if (next_ == Next::wanted && leaves_storage(view)) {
    files_->ask_next(next_first_, static_cast<std::uint32_t>(next_end_ - next_first_));
    next_ = Next::asked;
  }
  const bool begins = view.fastest_turn + view.workers >= cold_.first && view.slowest_turn < cold_.end;
  if (!begins) return;
  if (next_ == Next::asked && !files_->is_next_held()) {
    files_->release_next();
    next_ = Next::none;
  } else if (asked_ && as_next_ && held_until_turn_ == 0 && files_->state() != FilesAhead::State::held) {
    files_->release();
    asked_ = as_next_ = false;
  }
}

/// What is read while the job goes through a burst costs it no turns. As found it took a batch in a step and a wait.
/// Where it was read in a burst the last time, too, the turns that are left of this one are some of those that it took.
std::uint64_t PhaseSchedule::lead_after_burst(std::uint64_t turns, const View& view) const {
  if (lead_.of_turns > 0 && lead_.in_burst) {
    const std::uint64_t lead = lead_for(turns, view);
    return lead - std::min(lead, next_turn_ - std::min(next_turn_, view.fastest_turn));
  }
  const double read = burst_batches(Phase::cold, view) * (1.0 - waited_share_);
  const double left = std::clamp(1.0 - read / static_cast<double>(turns), 0.0, 1.0);
  return static_cast<std::uint64_t>(std::ceil(left * static_cast<double>(lead_for(turns, view))));
}

}  // namespace stallcast::collect
