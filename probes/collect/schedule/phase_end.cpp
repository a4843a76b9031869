/// When measuring ends: by its estimates, or by its budget.
#include <algorithm>
#include <cmath>

#include "probes/collect/schedule/constants.hpp"
#include "probes/collect/schedule/phase_schedule.hpp"
#include "probes/collect/schedule/phase_timing.hpp"

namespace stallcast::collect {

using record::Phase;
using record::Segment;

namespace {

constexpr const char* k_none_fitted = "no block from memory fitted into the budget";

}  // namespace

/// Whether the estimates are tight, and no wanted state is still to come.
bool PhaseSchedule::has_enough() const {
  if (!enough_ || complete_rounds_ < wants_.fewest_rounds) return false;
  if (!wants(Phase::cached) || !why_not_cached_.empty()) return true;
  const View now = view();
  return now.hold_only || cached_rounds_ >= wants_.fewest_rounds || !memory_may_come(now);
}

/// Whether a pass in which files can be told ahead comes within the budget.
bool PhaseSchedule::memory_may_come(const View& view) const {
  if (files_ == nullptr) return false;
  if (may_ask(view)) return true;
  if (view.pass_end == UINT64_MAX) return elapsed_s_ < wants_.budget.value() / 2.0;
  const double left = static_cast<double>(view.pass_end - std::min(view.pass_end, view.slowest_turn));
  return left / std::max(rate_as_found_, 1e-3) < wants_.budget.value() - elapsed_s_;
}

bool PhaseSchedule::has_time_for(const Group& group, const View& view) const {
  double takes = 0.0;
  std::uint64_t until = view.slowest_turn;
  for (const Segment& segment : group) {
    if (segment.first > until) takes += static_cast<double>(segment.first - until) / std::max(rate_as_found_, 1e-3);
    takes += costs_.seconds_of(static_cast<Phase>(segment.phase), segment.batches, rate_as_found_);
    until = segment.first + segment.batches;
  }
  return elapsed_s_ + takes <= wants_.budget.value();
}

/// Turns that ranks may take until they read of what is published now, so that all end at the same one. While cold
/// batches come slowly these are few, however fast the job was as found: a rank that takes more ends a turn later than
/// the others.
///
/// Worked example. Two ranks, 30 turns a second as found: 9. In a cold block of 0.4 a second: 1, which takes 2.5 s, not
/// 23.
std::uint64_t PhaseSchedule::turns_until_look(const View& view) const {
  if (view.ranks < 2) return 0;
  double rate = fastest_rate_;
  const Segment* segment = current(view);
  const double cold = costs_.batches_per_s(Phase::cold);
  if (segment != nullptr && segment->phase == static_cast<std::uint32_t>(Phase::cold) && cold > 0.0) {
    rate = std::min(rate, k_faster_than_so_far * cold);
  }
  return static_cast<std::uint64_t>(std::ceil(rate * k_look_s));
}

/// The end needs nothing in advance: no rank goes further than a turn or two until it reads of it.
void PhaseSchedule::publish_end(const View& view) {
  Segment segment{};
  segment.phase = static_cast<std::uint32_t>(Phase::end);
  segment.round = round_;
  segment.argument = wants_.stop ? 1 : 0;
  segment.first = view.fastest_turn + 2 + turns_until_look(view);
  publish(segment);
  ended_ = true;
  ended_s_ = elapsed_s_;
  if (wants(Phase::cached) && why_not_cached_.empty() && cached_rounds_ == 0 && !view.hold_only) {
    why_not_cached_ =
        view.passes < 2 && !not_in_first_pass_.empty()
            ? "measuring ended within the first pass over the data, in which it was not known which files come next (" +
                  not_in_first_pass_ + ")"
            : k_none_fitted;
  }
  if (files_ != nullptr && asked_) {
    files_->release_all();
    asked_ = false;
    held_until_turn_ = 0;
  }
}

/// What is published had time when it was, and is gone through first: the bursts that end a group count at its end.
void PhaseSchedule::end_behind_last(const View& view) {
  is_full_ = true;
  if (view.slowest_turn >= next_turn_) publish_end(view);
}

/// A round that is not complete took at least the time since the last one.
std::optional<PhaseSchedule::Short> PhaseSchedule::fell_short() const {
  const bool was_possible = why_not_cached_.empty() || cached_rounds_ > 0 || why_not_cached_ == k_none_fitted;
  if (!ended_ || enough_ || !wants(Phase::cached) || !was_possible || memory_from_s_ < 0.0) return std::nullopt;
  if (cached_rounds_ >= wants_.fewest_rounds) return std::nullopt;
  const double round_s = (ended_s_ - memory_from_s_) / std::max(1, cached_rounds_);
  const double more_s = round_s * (wants_.fewest_rounds - cached_rounds_);
  return Short{cached_rounds_, wants_.fewest_rounds, Seconds(std::max(ended_s_, wants_.budget.value()) + more_s)};
}

bool PhaseSchedule::is_over(std::uint64_t now_ns) const {
  if (!ended_) return false;
  const double elapsed = static_cast<double>(now_ns - armed_ns_) / k_second_ns;
  return view().all_at_end || elapsed >= ended_s_ + k_busy_elsewhere_s;
}

}  // namespace stallcast::collect
