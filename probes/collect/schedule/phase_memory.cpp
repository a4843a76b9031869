/// Blocks from memory: their files are asked for, read beside the job, held while their batches are made, and let go.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "probes/collect/schedule/constants.hpp"
#include "probes/collect/schedule/phase_schedule.hpp"

namespace stallcast::collect {
namespace {

using record::Phase;
using record::Segment;

/// Whether a group from memory ends with a block that only predictions need.
bool has_further_block(const std::vector<Segment>& group) {
  return group.size() > 1 && group.back().phase != static_cast<std::uint32_t>(Phase::synthetic);
}

}  // namespace

/// Asks for the files of the group from memory, and publishes it once they are there.
void PhaseSchedule::advance_cached(const View& view) {
  if (!may_ask(view)) return lost_sight(view);
  const Group group = asked_ && as_next_ ? next_group_ : cached_group(view);
  const std::uint64_t from = std::max(next_turn_, earliest_turn(view));
  if (!asked_) {
    ask_for_files(turns_of(group), from, view);
  } else if (files_->state() == FilesAhead::State::failed) {
    files_failed(view);
  } else if (files_->state() == FilesAhead::State::held && held_until_turn_ == 0) {
    note_reading(view);
    publish_cached(group, asked_all_ ? from : std::max(from, asked_first_), view);
  } else if (held_until_turn_ == 0 && holds_for_too_long()) {
    files_->release();
    asked_ = false;
    why_not_cached_ = "bringing all of the mapped files in takes most of what was left of the budget";
    end_round();
  }
}

/// What comes next could be told when this round began, and no longer can: a sampler that does more than go through a
/// list.
void PhaseSchedule::lost_sight(const View& view) {
  if (view.passes >= 2 || view.pass_end != UINT64_MAX || held_until_turn_ > 0) return;
  files_->release_all();
  asked_ = as_next_ = false;
  wait_for_second_pass("what comes next can no longer be told");
}

bool PhaseSchedule::holds_for_too_long() const {
  return reads_maps() && elapsed_s_ - lead_.from_s > k_most_of_budget_to_hold * (wants_.budget.value() - lead_.from_s);
}

void PhaseSchedule::ask_for_files(std::uint64_t turns, std::uint64_t from, const View& view) {
  // Reading beside cold batches would slow them, and what it brings in would not be cold. In the burst behind them
  // nobody else reads.
  const bool in_burst = reads_in_gaps(view) && view.slowest_turn < next_turn_ && cold_.burst > 0 && rests(cold_, view);
  if (view.slowest_turn < next_turn_ && !in_burst) return;
  if (memory_from_s_ < 0.0) memory_from_s_ = elapsed_s_;
  // By the time that they are read it will be behind the burst.
  if (in_burst) from = std::max(from, next_turn_ + (earliest_turn(view) - view.fastest_turn));
  if (goes_by_position(view)) return ask_from_here(turns, from, view);
  // What comes next is known within a pass alone: where reading and the group hardly fit into one, all files are held.
  const std::uint64_t read = is_slow(view) ? turns + turns / 4 : turns;  // with the slack below
  const std::uint64_t lead = in_burst ? lead_after_burst(read, view) : lead_for(read, view);
  const bool fits = turns + lead + (earliest_turn(view) - view.fastest_turn) < view.pass_length();
  const bool all = asked_all_ || view.not_ahead || spans_ || !fits || late_ >= k_most_late_holds || reads_maps();
  // Bringing all of what is mapped in takes long: first the rounds that need none of it.
  const bool is_early = static_cast<int>(round_) + 1 < wants_.fewest_rounds && wants(Phase::cold);
  if (all && reads_maps() && is_early) return end_round();
  if (all && view.passes < 2 && !reads_maps())
    return wait_for_second_pass("reading what comes next takes too much of the first pass");
  asked_all_ = all;
  asked_first_ = from + lead;
  // What may be late costs as much to read as what is not: little of it where a batch takes long.
  const std::uint64_t slack = is_slow(view) ? std::min(lead, turns / 4) : lead / 2 + view.in_flight;
  asked_end_ = asked_first_ + turns + slack;
  if (!asked_all_ && asked_end_ > view.pass_end) {
    if (from + turns > view.pass_end) return;  // with the next pass
    asked_first_ = std::min(asked_first_, view.pass_end - turns);
    asked_end_ = view.pass_end;
  }
  begin_reading(read, view);
  lead_.asked_in_burst = in_burst;
  asked_from_here_ = false;
  if (asked_all_) {
    files_->ask_all();
  } else {
    files_->ask(asked_first_, static_cast<std::uint32_t>(asked_end_ - asked_first_));
  }
}

void PhaseSchedule::begin_reading(std::uint64_t turns, const View& view) {
  asked_ = true;
  as_next_ = false;
  lead_.asked_turns = turns;
  lead_.from_turn = view.fastest_turn;
  lead_.from_s = elapsed_s_;
  lead_.asked_in_burst = false;
  lead_.under_way = true;
}

/// How far the job got while the files were read: once, as the group may have to wait for its place.
void PhaseSchedule::note_reading(const View& view) {
  if (!lead_.under_way) return;
  lead_.under_way = false;
  lead_.got_turns = view.fastest_turn - std::min(view.fastest_turn, lead_.from_turn);
  lead_.took_s = elapsed_s_ - lead_.from_s;
  lead_.of_turns = asked_all_ ? 0 : lead_.asked_turns;
  lead_.in_burst = lead_.asked_in_burst;
}

/// As far as it got the last time. A job that waits for storage takes all that it gives: the first time it is taken to
/// go on by one turn for five that are read beside it, and to keep two thirds of a stream.
///
/// Worked example. It takes 4 batches/s; the files of 40 turns are then read in 12 s, in which the job itself goes on
/// by 8 turns. Where a batch takes long, what comes late costs no more than what comes early.
std::uint64_t PhaseSchedule::lead_for(std::uint64_t turns, const View& view) const {
  const double rate = std::max(rate_as_found_, k_slowest_lead_rate);
  const bool is_stream = goes_by_position(view);
  const bool may_be_in_memory = view.passes >= 2 && !is_stream;
  const auto asked = static_cast<double>(turns);
  double lead = k_first_read_s * rate;
  if (lead_.of_turns > 0) {
    const double last = static_cast<double>(lead_.got_turns) / static_cast<double>(lead_.of_turns);
    lead = std::max(k_least_read_s * rate, last * asked);
  } else if (!may_be_in_memory && waited_share_ >= k_hardly_waited_share) {
    lead = std::max(lead, asked * (is_stream ? k_stream_beside_reading : k_files_beside_reading));
  }
  return static_cast<std::uint64_t>(std::ceil(lead * (is_slow(view) ? 1.0 : k_read_slack)));
}

bool PhaseSchedule::may_ask(const View& view) const {
  if (view.passes >= 2 || goes_by_position(view)) return true;
  return not_in_first_pass_.empty() && !view.not_ahead && view.pass_end != UINT64_MAX;
}

void PhaseSchedule::wait_for_second_pass(std::string why) {
  not_in_first_pass_ = std::move(why);
  late_ = 0;
  end_round();
}

void PhaseSchedule::files_failed(const View& view) {
  const std::string why = files_->why_not();
  files_->release();
  asked_ = false;
  if (std::exchange(as_next_, false)) return;  // asked for anew behind its cold group
  cached_before_cold_ = false;
  if (asked_from_here_) {
    asked_from_here_ = false;
    return positions_failed(why, view);
  }
  if (view.passes < 2) return wait_for_second_pass(why);
  if (view.not_ahead && !no_positions_) {
    not_all_ = true;  // more than may be held: what its readers have before them, then
    return;
  }
  if (!asked_all_) {
    asked_all_ = true;  // what comes next cannot be told: all of it, then
    return;
  }
  why_not_cached_ = why;
  end_round();
}

void PhaseSchedule::publish_cached(Group group, std::uint64_t from, const View& view) {
  if (!place(group, from, view)) return;
  const std::uint64_t end = group.back().first + group.back().batches;
  if (!asked_all_ && end > asked_end_) {  // reading took longer than was foreseen
    late_ += as_next_ ? 0 : 1;
    files_->release();
    asked_ = false;
    if (!asked_from_here_) return;
    asked_from_here_ = false;
    if (late_ >= k_most_late_holds) positions_failed("reading what comes next takes longer than its shards last", view);
    return;
  }
  if (!has_time_for(group, view)) {
    end_behind_last(view);
    return;
  }
  publish(group);
  const bool ends_with_burst = group.back().phase == static_cast<std::uint32_t>(Phase::synthetic);
  extras_ += has_further_block(group) ? 1 : 0;
  ++cached_rounds_;
  publish_next_cached(group, view);
  held_first_ = group.front().first;
  held_end_ = asked_all_ || as_next_ ? 0 : asked_end_;
  held_until_turn_ = next_turn_;
  last_burst_ = ends_with_burst ? control_.segment_count.load(std::memory_order_relaxed) : 0;
  end_round();
  publish_next_cold(view);
}

/// Where bringing all files in took long, the next round's group from memory follows at once; its cold one comes after.
void PhaseSchedule::publish_next_cached(Group group, const View& view) {
  if (!asked_all_ || !wants(Phase::cold) || cached_before_cold_ || lead_.took_s < k_long_hold_s) return;
  const bool has_extra = has_further_block(group);
  for (Segment& segment : group) ++segment.round;
  if (!place(group, next_turn_, view) || !has_time_for(group, view)) return;
  publish(group);
  extras_ += has_extra ? 1 : 0;
  ++cached_rounds_;
  cached_before_cold_ = true;
}

/// Files are needed until the last batch of their group is made: cold blocks after it evict what is held no more.
void PhaseSchedule::release_when_passed(const View& view) {
  if (held_until_turn_ == 0) return;
  const bool all_made = last_burst_ > 0 && view.ready >= last_burst_;
  if (!all_made && view.slowest_turn < held_until_turn_) return;
  files_->release();
  held_until_turn_ = 0;
  asked_ = as_next_ = next_ == Next::asked;
  next_ = Next::none;
  if (!asked_) return;
  asked_first_ = next_first_;
  asked_end_ = next_end_;
}

}  // namespace stallcast::collect
