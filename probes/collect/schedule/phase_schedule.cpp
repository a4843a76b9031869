#include "probes/collect/schedule/phase_schedule.hpp"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <utility>

#include "probes/collect/schedule/constants.hpp"
#include "probes/collect/schedule/phase_timing.hpp"
#include "probes/record/layout.hpp"

namespace stallcast::collect {
namespace {

using record::Phase;
using record::Segment;

const char* name_of(std::uint32_t phase) {
  constexpr const char* k_names[] = {"as found", "from storage", "from memory",  "computing alone", "",
                                     "",         "half cached",  "slower reads", "slower prep"};
  return phase < std::size(k_names) ? k_names[phase] : "end";
}

}  // namespace

PhaseSchedule::PhaseSchedule(record::ControlBlock& control, PhaseWants wants, FilesAhead* files)
    : control_(control), wants_(std::move(wants)), files_(files) {}

PhaseSchedule::View PhaseSchedule::view() const {
  View view;
  std::uint64_t batches = 0;
  std::uint64_t steps = 0;
  std::uint64_t slowest = UINT64_MAX;
  for (std::uint32_t rank = 0; rank < record::k_max_ranks; ++rank) {
    const record::PhaseSlot& slot = control_.phases[rank];
    const auto support = static_cast<record::PhaseSupport>(slot.support.load(std::memory_order_relaxed));
    view.refused = view.refused || support == record::PhaseSupport::none;
    if (slot.armed.load(std::memory_order_acquire) == 0) continue;
    const std::uint64_t turns = slot.turns.load(std::memory_order_relaxed);
    const bool is_done = slot.at_end.load(std::memory_order_relaxed) != 0;
    if (!is_done) slowest = std::min(slowest, turns);
    view.fastest_turn = std::max(view.fastest_turn, turns);
    view.hold_only = view.hold_only || support == record::PhaseSupport::hold_only;
    view.not_ahead = view.not_ahead || support == record::PhaseSupport::not_ahead;
    view.all_at_end = view.all_at_end && is_done;
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
  view.slowest_turn = std::min(slowest, view.fastest_turn);
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

/// Whether computing alone is wanted, and no cold blocks that its bursts would end.
bool PhaseSchedule::wants_bursts_without_cold() const {
  return wants(Phase::synthetic) && !wants(Phase::cold);
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
  const std::uint64_t turns = view.slowest_turn - std::min(view.slowest_turn, first_turn_);
  const bool is_slow = elapsed_s_ >= k_as_found_at_most_s && turns > 0;
  if (elapsed_s_ < k_as_found_s || (turns < k_as_found_turns && !is_slow)) return;
  if (view.hold_only && !wants(Phase::synthetic)) {
    obstacle_ = "where this loader's data come from cannot be chosen; it can be profiled with --phases synthetic";
    return;
  }
  rate_as_found_ = static_cast<double>(turns) / elapsed_s_;
  const double share = static_cast<double>(view.waited_ns - waited_before_) / (elapsed_s_ * k_second_ns);
  waited_share_ = std::clamp(share / std::max(1U, view.ranks), 0.0, k_most_waited_share);
  const std::uint64_t measured = std::max<std::uint64_t>(measured_batches(rate_as_found_), view.workers);
  transients_ = view.workers == 0 ? 1 : view.in_flight + view.workers;
  block_batches_ = std::min(measured + transients_, k_most_block_batches);
  spans_ = view.pass_length() > 0 && view.pass_length() < block_batches_ + view.in_flight + 2;
  next_turn_ = std::max(next_turn_, view.fastest_turn);
}

/// Whether what is mapped can be put out of memory shows in the first cold group. Where it cannot, each further one
/// would take its time of the budget, and fail its premise.
void PhaseSchedule::judge_maps(const View& view) {
  if (!wants(Phase::cold) || !reads_maps() || cold_.end == 0 || !rests(cold_, view)) return;
  if (control_.cold_map_batches.load(std::memory_order_acquire) < k_fewest_block_batches) return;
  const auto bytes = static_cast<double>(control_.cold_map_bytes.load(std::memory_order_relaxed));
  const auto stayed = static_cast<double>(control_.cold_map_resident_bytes.load(std::memory_order_relaxed));
  if (stayed <= k_surely * record::k_most_resident_if_cold * bytes) return;
  char share[16];
  std::snprintf(share, sizeof(share), "%.0f %%", 100.0 * stayed / bytes);
  give_up_cold(std::string(share) + " of the mapped files stay in memory");
}

void PhaseSchedule::give_up_cold(std::string why) {
  if (!wants(Phase::cold)) return;
  std::erase_if(wants_.phases, [](Phase phase) { return phase == Phase::cold || phase == Phase::supply_cold; });
  why_not_cold_ = std::move(why);
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

void PhaseSchedule::publish_cold(const Group& group) {
  publish(group);
  const bool ends_with_burst = group.back().phase == static_cast<std::uint32_t>(Phase::synthetic);
  cold_before_ = cold_;
  cold_ = {group.front().first, next_turn_,
           ends_with_burst ? control_.segment_count.load(std::memory_order_relaxed) : 0};
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

/// One in which nothing was published is none: nobody need look at its estimates.
void PhaseSchedule::end_round() {
  cached_next_ = false;
  const std::uint32_t published = control_.segment_count.load(std::memory_order_relaxed);
  if (published == published_before_) return;
  published_before_ = published;
  round_ends_.push_back(next_turn_);
  ++round_;
}

/// Publishes the next group where there is time for it.
void PhaseSchedule::advance(const View& view) {
  if (static_cast<double>(next_turn_) > static_cast<double>(earliest_turn(view)) + fastest_rate_ * k_look_s) return;
  if (asked_ || cached_next_) {
    advance_cached(view);
    return;
  }
  const bool memory = !view.hold_only && wants(Phase::cached) && why_not_cached_.empty() && memory_may_come(view);
  const bool bursts_alone = !view.hold_only && wants_bursts_without_cold() && !memory;
  Group group = view.hold_only || bursts_alone ? found_group(bursts_alone, view) : cold_group(view);
  if (group.empty()) {
    cached_next_ = memory;
    if (bursts_alone && round_ends_.empty()) {
      obstacle_ = "too few batches are made within a hold, as they come slowly from storage";
    } else if (!memory) {
      end_behind_last(view);
    }
    return;
  }
  // In the first pass only so many rounds as tell the state: what is missing comes with the next.
  const bool waits = memory && !may_ask(view) && complete_rounds_ >= 2 * wants_.fewest_rounds;
  if (waits) return;
  // What is still held could not be evicted.
  if (held_until_turn_ > 0 || (files_ != nullptr && files_->state() != FilesAhead::State::idle)) return;
  const std::uint64_t gap = bursts_alone && view.workers > 0 ? measured_batches(rate_as_found_) : 0;
  if (!place(group, std::max(next_turn_, earliest_turn(view)) + gap, view)) return;
  if (!has_time_for(group, view)) {
    end_behind_last(view);
    return;
  }
  publish_cold(group);
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
  if (is_full_) {
    end_behind_last(now);
    return;
  }
  if (block_batches_ == 0) plan_blocks(now);
  judge_maps(now);
  follow_next(now);
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
