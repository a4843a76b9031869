#include "probes/collect/schedule/phase_schedule.hpp"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <utility>

#include "probes/collect/schedule/constants.hpp"
#include "probes/collect/schedule/phase_timing.hpp"

namespace stallcast::collect {
namespace {

using record::Phase;
using record::Segment;

const char* name_of(std::uint32_t phase) {
  constexpr const char* k_names[] = {"as found", "from storage", "from memory",  "computing alone", "",
                                     "",         "half cached",  "slower reads", "slower prep"};
  return phase < std::size(k_names) ? k_names[phase] : "end";
}

/// Whether a group from memory ends with a block that only predictions need.
bool has_further_block(const std::vector<Segment>& group) {
  return group.size() > 1 && group.back().phase != static_cast<std::uint32_t>(Phase::synthetic);
}

}  // namespace

PhaseSchedule::PhaseSchedule(record::ControlBlock& control, PhaseWants wants, FilesAhead* files)
    : control_(control), wants_(std::move(wants)), files_(files) {}

PhaseSchedule::View PhaseSchedule::view() const {
  View view;
  std::uint64_t batches = 0;
  std::uint64_t steps = 0;
  for (std::uint32_t rank = 0; rank < record::k_max_ranks; ++rank) {
    const record::PhaseSlot& slot = control_.phases[rank];
    const auto support = static_cast<record::PhaseSupport>(slot.support.load(std::memory_order_relaxed));
    view.refused = view.refused || support == record::PhaseSupport::none;
    if (slot.armed.load(std::memory_order_acquire) == 0) continue;
    const std::uint64_t turns = slot.turns.load(std::memory_order_relaxed);
    view.slowest_turn = view.armed ? std::min(view.slowest_turn, turns) : turns;
    view.fastest_turn = std::max(view.fastest_turn, turns);
    view.hold_only = view.hold_only || support == record::PhaseSupport::hold_only;
    view.not_ahead = view.not_ahead || support == record::PhaseSupport::not_ahead;
    view.all_at_end = view.all_at_end && slot.at_end.load(std::memory_order_relaxed) != 0;
    view.missed += slot.missed.load(std::memory_order_relaxed);
    view.waited_ns += control_.ranks[rank].waited_ns.load(std::memory_order_relaxed);
    view.held_ns = std::max(view.held_ns, slot.held_ns.load(std::memory_order_relaxed));
    view.ready = std::min(view.ready, slot.ready.load(std::memory_order_relaxed));
    view.passes = std::min(view.armed ? view.passes : UINT32_MAX, slot.passes.load(std::memory_order_relaxed));
    view.pass_first = slot.pass_first.load(std::memory_order_relaxed);
    view.pass_end = std::min(view.pass_end, slot.pass_end.load(std::memory_order_relaxed));
    view.workers = slot.workers.load(std::memory_order_relaxed);
    view.in_flight = view.workers * std::max(1U, slot.prefetch.load(std::memory_order_relaxed));
    batches += control_.ranks[rank].batches.load(std::memory_order_relaxed);
    steps += control_.ranks[rank].steps.load(std::memory_order_relaxed);
    ++view.ranks;
    view.armed = true;
  }
  if (steps > 0) view.batches_a_step = static_cast<double>(batches) / static_cast<double>(steps);
  return view;
}

/// The segment that the slowest rank is in; nullptr: as found.
const Segment* PhaseSchedule::current(const View& view) const {
  for (std::uint32_t i = control_.segment_count.load(std::memory_order_relaxed); i-- > 0;) {
    const Segment& segment = control_.segments[i];
    if (segment.phase == static_cast<std::uint32_t>(Phase::end)) continue;
    if (segment.first + segment.batches <= view.slowest_turn) return nullptr;
    if (segment.first <= view.slowest_turn) return &segment;
  }
  return nullptr;
}

bool PhaseSchedule::wants(Phase phase) const {
  return std::find(wants_.phases.begin(), wants_.phases.end(), phase) != wants_.phases.end();
}

/// Rates as the ranks pass turns.
void PhaseSchedule::follow(const View& view, std::uint64_t now_ns) {
  costs_.follow(current(view), view.slowest_turn, now_ns);
  const double since_look = static_cast<double>(now_ns - last_look_ns_) / k_second_ns;
  if (since_look >= k_rate_over_s) {
    fastest_rate_ = std::max(fastest_rate_, static_cast<double>(view.fastest_turn - last_turn_) / since_look);
    last_look_ns_ = now_ns;
    last_turn_ = view.fastest_turn;
  }
}

/// How long blocks are, from the rate as found and the length of a pass.
void PhaseSchedule::plan_blocks(const View& view) {
  const bool is_slow = elapsed_s_ >= k_as_found_at_most_s && view.slowest_turn > 0;
  if (elapsed_s_ < k_as_found_s || (view.slowest_turn < k_as_found_turns && !is_slow)) return;
  if (view.hold_only && !wants(Phase::synthetic)) {
    obstacle_ = "where this loader's data come from cannot be chosen; it can be profiled with --phases synthetic";
    return;
  }
  rate_as_found_ = static_cast<double>(view.slowest_turn - first_turn_) / elapsed_s_;
  const double share = static_cast<double>(view.waited_ns - waited_before_) / (elapsed_s_ * k_second_ns);
  waited_share_ = share / std::max(1U, view.ranks);
  const std::uint64_t measured = std::max<std::uint64_t>(measured_batches(rate_as_found_), view.workers);
  transients_ = view.workers == 0 ? 1 : view.in_flight + view.workers;
  block_batches_ = std::min(measured + transients_, k_most_block_batches);
  spans_ = view.pass_length() > 0 && view.pass_length() < block_batches_ + view.in_flight + 2;
  next_turn_ = std::max(next_turn_, view.fastest_turn);
}

void PhaseSchedule::publish(const Segment& segment) {
  const std::uint32_t count = control_.segment_count.load(std::memory_order_relaxed);
  if (count >= record::k_max_segments) return;
  control_.segments[count] = segment;
  control_.segment_count.store(count + 1, std::memory_order_release);
}

void PhaseSchedule::publish(const Group& group) {
  for (const Segment& segment : group) publish(segment);
  next_turn_ = group.back().first + group.back().batches;
}

/// First turn whose index list no rank can have put before it reads what is published now.
std::uint64_t PhaseSchedule::earliest_turn(const View& view) const {
  return view.fastest_turn + view.in_flight + 2 + static_cast<std::uint64_t>(std::ceil(fastest_rate_ * k_look_s));
}

/// Sets the turns of a group that begins at `from` or later. Within a pass where it fits; a burst never lies across the
/// end of one, as its batches must be under way together. Absent while it is not known where it may go.
std::optional<std::uint64_t> PhaseSchedule::place(Group& group, std::uint64_t from, const View& view) const {
  std::uint64_t first = from;
  const std::uint64_t length = view.pass_length();
  if (length > 0) {
    const std::uint64_t turns = turns_of(group);
    std::uint64_t end = view.pass_end;
    while (end <= first) end += length;
    if (!spans_ && first + turns > end) {
      if (turns <= length) {
        first = end;
        end += length;
      }
    }
    // Too far ahead to be told; of passes that last but moments, several always lie between.
    if (!spans_ && first >= view.pass_end + length) return std::nullopt;
  }
  for (Segment& segment : group) {
    if (length > 0 && segment.phase == static_cast<std::uint32_t>(Phase::synthetic)) {
      std::uint64_t end = view.pass_end;
      while (end <= first) end += length;
      if (first + segment.batches > end) first = end;
      segment.batches = static_cast<std::uint32_t>(std::min<std::uint64_t>(segment.batches, length));
    }
    segment.first = first;
    first += segment.batches;
  }
  return group.front().first;
}

void PhaseSchedule::end_round() {
  round_ends_.push_back(next_turn_);
  ++round_;
  cached_next_ = false;
}

/// Publishes the next group where there is time for it.
void PhaseSchedule::advance(const View& view) {
  if (static_cast<double>(next_turn_) > static_cast<double>(earliest_turn(view)) + fastest_rate_ * k_look_s) return;
  if (asked_ || cached_next_) {
    advance_cached(view);
    return;
  }
  Group group = view.hold_only ? found_group(view) : cold_group(view);
  const bool memory = !view.hold_only && wants(Phase::cached) && why_not_cached_.empty() && memory_may_come(view);
  if (group.empty()) {
    cached_next_ = memory;
    if (!memory) publish_end(view);
    return;
  }
  // In the first pass only so many rounds as tell the state: what is missing comes with the next.
  const bool waits = memory && !may_ask(view) && complete_rounds_ >= 2 * wants_.fewest_rounds;
  if (waits) return;
  // What is still held could not be evicted.
  if (held_until_turn_ > 0 || (files_ != nullptr && files_->state() != FilesAhead::State::idle)) return;
  if (!place(group, std::max(next_turn_, earliest_turn(view)), view)) return;
  if (!has_time_for(group, view)) {
    publish_end(view);
    return;
  }
  publish(group);
  const bool can_be_told = may_ask(view) || group.front().first >= view.pass_end;
  if (cached_before_cold_) {
    cached_before_cold_ = false;
    end_round();
  } else if (memory && can_be_told) {
    cached_next_ = true;
  } else {
    end_round();
  }
}

/// Asks for the files of the group from memory, and publishes it once they are there.
void PhaseSchedule::advance_cached(const View& view) {
  if (!may_ask(view)) return;
  const Group group = cached_group(view);
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

bool PhaseSchedule::holds_for_too_long() const {
  return reads_maps() && elapsed_s_ - lead_.from_s > k_most_of_budget_to_hold * (wants_.budget.value() - lead_.from_s);
}

void PhaseSchedule::ask_for_files(std::uint64_t turns, std::uint64_t from, const View& view) {
  // Reading beside cold batches would slow them, and what it brings in would not be cold.
  if (view.slowest_turn < next_turn_) return;
  if (memory_from_s_ < 0.0) memory_from_s_ = elapsed_s_;
  if (goes_by_position(view)) return ask_from_here(turns, from, view);
  // What comes next is known within a pass alone: where reading and the group hardly fit into one, all files are held.
  const std::uint64_t lead = lead_for(turns, view);
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
  const std::uint64_t slack = is_slow(view) ? std::min(lead / 2, turns / 4) : lead / 2 + view.in_flight;
  asked_end_ = asked_first_ + turns + slack;
  if (!asked_all_ && asked_end_ > view.pass_end) {
    if (from + turns > view.pass_end) return;  // with the next pass
    asked_first_ = std::min(asked_first_, view.pass_end - turns);
    asked_end_ = view.pass_end;
  }
  begin_reading(turns, view);
  asked_from_here_ = false;
  if (asked_all_) {
    files_->ask_all();
  } else {
    files_->ask(asked_first_, static_cast<std::uint32_t>(asked_end_ - asked_first_));
  }
}

void PhaseSchedule::begin_reading(std::uint64_t turns, const View& view) {
  asked_ = true;
  lead_.asked_turns = turns;
  lead_.from_turn = view.fastest_turn;
  lead_.from_s = elapsed_s_;
  lead_.under_way = true;
}

/// How far the job got while the files were read: once, as the group may have to wait for its place.
void PhaseSchedule::note_reading(const View& view) {
  if (!lead_.under_way) return;
  lead_.under_way = false;
  lead_.got_turns = view.fastest_turn - lead_.from_turn;
  lead_.took_s = elapsed_s_ - lead_.from_s;
  lead_.of_turns = asked_all_ ? 0 : lead_.asked_turns;
}

/// As far as it got the last time. A job that waits for storage takes all that it gives: the first time it is taken to
/// keep a third beside the readers of files, of whom there are two for each of its workers, and two thirds of a stream.
///
/// Worked example. It takes 4 batches/s; the files of 40 turns are then read at two thirds of that, in 15 s, in which
/// the job itself goes on by 20 turns.
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
  return static_cast<std::uint64_t>(std::ceil(lead * k_read_slack));
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
    ++late_;
    files_->release();
    asked_ = false;
    if (!asked_from_here_) return;
    asked_from_here_ = false;
    if (late_ >= k_most_late_holds) positions_failed("reading what comes next takes longer than its shards last", view);
    return;
  }
  if (!has_time_for(group, view)) {
    publish_end(view);
    return;
  }
  publish(group);
  const bool ends_with_burst = group.back().phase == static_cast<std::uint32_t>(Phase::synthetic);
  extras_ += has_further_block(group) ? 1 : 0;
  ++cached_rounds_;
  publish_next_cached(group, view);
  held_until_turn_ = next_turn_;
  last_burst_ = ends_with_burst ? control_.segment_count.load(std::memory_order_relaxed) : 0;
  end_round();
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
  asked_ = false;
  held_until_turn_ = 0;
}

/// A rank that has died takes no turn any more, and nobody waits for it.
void PhaseSchedule::forget_the_dead() {
  for (std::uint32_t rank = 0; rank < record::k_max_ranks; ++rank) {
    const auto pid = static_cast<pid_t>(control_.ranks[rank].pid.load(std::memory_order_relaxed));
    if (pid <= 0 || control_.phases[rank].armed.load(std::memory_order_relaxed) == 0) continue;
    if (kill(pid, 0) != 0 && errno == ESRCH) control_.phases[rank].armed.store(0, std::memory_order_release);
  }
}

void PhaseSchedule::step(std::uint64_t now_ns) {
  forget_the_dead();
  const View now = view();
  if (!now.armed) return;
  if (armed_ns_ == 0) {
    armed_ns_ = last_look_ns_ = now_ns;
    waited_before_ = now.waited_ns;
    first_turn_ = last_turn_ = now.slowest_turn;
  }
  elapsed_s_ = static_cast<double>(now_ns - armed_ns_) / k_second_ns;
  complete_rounds_ = static_cast<int>(std::count_if(round_ends_.begin(), round_ends_.end(),
                                                    [&](std::uint64_t end) { return end <= now.slowest_turn; }));
  release_when_passed(now);
  if (ended_) return;
  follow(now, now_ns);
  if (elapsed_s_ >= wants_.budget.value() || has_enough()) {
    publish_end(now);
    return;
  }
  if (!obstacle_.empty()) return;
  if (block_batches_ == 0) plan_blocks(now);
  if (block_batches_ > 0) advance(now);
}

PhaseProgress PhaseSchedule::progress(std::uint64_t now_ns) const {
  PhaseProgress progress;
  const View now = view();
  progress.armed = now.armed;
  progress.refused = !now.armed && now.refused;
  progress.ended = ended_;
  progress.rounds = complete_rounds_;
  if (!now.armed || armed_ns_ == 0) return progress;
  progress.elapsed_s = static_cast<double>(now_ns - armed_ns_) / k_second_ns;
  progress.left_s = std::max(0.0, wants_.budget.value() - progress.elapsed_s);
  progress.phase = "as found";
  progress.batches_per_s = costs_.batches_per_s(Phase::as_is);
  if (const Segment* segment = current(now)) {
    progress.phase = name_of(segment->phase);
    progress.batches_per_s = costs_.batches_per_s(static_cast<Phase>(segment->phase));
  }
  return progress;
}

}  // namespace stallcast::collect
