/// When a phased run ends: by its estimates, by its budget, or because the job hangs.
#include <signal.h>

#include <cerrno>
#include <cmath>

#include "probes/collect/phase_schedule.hpp"
#include "probes/collect/phase_timing.hpp"

namespace stallcast::collect {

using record::Phase;
using record::Segment;

namespace {

constexpr double k_late_s = 2.0;      ///< beyond the budget, before blocks are cut short
constexpr double k_hung_s = 30.0;     ///< beyond the budget, before the job counts as hung
constexpr double k_launcher_s = 3.0;  ///< from the end of the last rank until what is left of the job is ended

}  // namespace

/// The end needs no index lists in advance: no rank asks for more than a turn or two until it reads of it.
void PhaseSchedule::end_at_once(const View& view) {
  const std::uint64_t soon = view.fastest_turn + 2 + static_cast<std::uint64_t>(std::ceil(fastest_rate_ * k_look_s));
  if (ended_ && soon >= next_turn_) return;
  next_turn_ = soon;
  publish_end();
}

void PhaseSchedule::cut_if_late(const View& view, std::uint64_t now_ns) {
  const double elapsed = static_cast<double>(now_ns - armed_ns_) / k_second_ns;
  if (cut_ || elapsed < wants_.budget.value() + k_late_s) return;
  cut_ = true;
  end_at_once(view);
}

void PhaseSchedule::publish_end() {
  Segment segment{};
  segment.phase = static_cast<std::uint32_t>(Phase::end);
  segment.round = next_round_;
  segment.first = next_turn_;
  publish(segment);
  ended_ = true;
}

/// The end comes before what else belongs to its turn: it leaves room for supply batches that were published.
void PhaseSchedule::end_behind_all() {
  const std::uint32_t count = control_.segment_count.load(std::memory_order_relaxed);
  if (count > 0 && is_supply(control_.segments[count - 1])) ++next_turn_;
  publish_end();
}

/// Seconds of the budget that will be spent when the slowest rank comes to turn `begin`, by what batches of each phase
/// have cost so far.
double PhaseSchedule::spent_until(std::uint64_t begin, const View& view) const {
  double spent = elapsed_s_;
  const std::uint32_t count = control_.segment_count.load(std::memory_order_relaxed);
  std::uint64_t turns_ahead = begin > view.slowest_turn ? begin - view.slowest_turn : 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Segment& segment = control_.segments[i];
    const bool supply = is_supply(segment);
    const std::uint64_t end = segment.first + (supply ? 1 : segment.batches);
    if (end <= view.slowest_turn) continue;
    const std::uint64_t left = supply ? segment.batches : end - std::max(segment.first, view.slowest_turn);
    spent += costs_.seconds_of(static_cast<Phase>(segment.phase), static_cast<double>(left), rate_as_found_);
    if (!supply) turns_ahead -= std::min(turns_ahead, left);
  }
  if (const auto filler = filler_before(begin, view)) {
    const std::uint64_t filled = std::min<std::uint64_t>(turns_ahead, filler->batches);
    turns_ahead -= filled;
    spent += costs_.seconds_of(static_cast<Phase>(filler->phase), static_cast<double>(filled), rate_as_found_);
  }
  return spent + costs_.seconds_of(Phase::as_is, static_cast<double>(turns_ahead), rate_as_found_);
}

/// True where the next block would end after the budget. How long it takes until a new epoch begins is a guess: not
/// before there are rounds enough does it end a run.
bool PhaseSchedule::out_of_time(const View& view) {
  const Segment* next = next_of_rounds(view);
  if (next == nullptr) return true;
  std::uint64_t begin = next_turn_;
  if (complete_rounds_ >= wants_.fewest_rounds) begin = first_turn(fitted(*next, view), view).value_or(begin);
  const double takes = costs_.seconds_of(static_cast<Phase>(next->phase), next->batches, rate_as_found_);
  return spent_until(begin, view) + takes > wants_.budget.value();
}

/// Whether, after a supply block, there is time for the fewest rounds and one more: of three, Student's t is 4.3, of
/// four 3.2.
///
/// Worked example. Epochs of 100 batches; a round of 130 ends in the middle of one, and what is left of it is filled
/// with batches from memory, at 18 a second. Its blocks take 11 s, with that 15 s. After 20 s of 60, a supply block has
/// no time: 3 * 15 s are still needed.
bool PhaseSchedule::leaves_time(const Segment& supply, const View& view) const {
  double round_s = 0.0;
  std::uint64_t turns = 0;
  for (const Segment& segment : begun_) {
    if (is_supply(segment)) continue;
    round_s += costs_.seconds_of(static_cast<Phase>(segment.phase), segment.batches, rate_as_found_);
    turns += segment.batches;
  }
  if (view.pass_end != UINT64_MAX && view.pass_end > view.pass_first) {
    const std::uint64_t epoch = view.pass_end - view.pass_first;
    const std::uint64_t filled = (epoch - turns % epoch) % epoch;
    round_s += costs_.seconds_of(Phase::cached, static_cast<double>(filled), rate_as_found_);
  }
  const int more = std::max(0, wants_.fewest_rounds + 1 - static_cast<int>(next_round_));
  const double supply_s = costs_.seconds_of(static_cast<Phase>(supply.phase), supply.batches, rate_as_found_);
  return spent_until(next_turn_, view) + supply_s + more * round_s <= wants_.budget.value();
}

std::optional<Seconds> PhaseSchedule::budget_needed() const {
  if (!ended_ || begun_.empty() || complete_rounds_ >= wants_.fewest_rounds) return std::nullopt;
  double round_s = 0.0;
  for (const Segment& segment : begun_) {
    round_s += costs_.seconds_of(static_cast<Phase>(segment.phase), segment.batches, rate_as_found_);
  }
  const double needed = begun_s_ + round_s * wants_.fewest_rounds;
  return needed > wants_.budget.value() ? std::optional(Seconds(needed)) : std::nullopt;
}

/// Where no block can be run, the state as found is all there is to measure: until the budget is spent.
void PhaseSchedule::end_in_time(const View& view, std::uint64_t now_ns) {
  if (static_cast<double>(now_ns - armed_ns_) / k_second_ns < wants_.budget.value()) return;
  next_turn_ = earliest_turn(view);
  publish_end();
}

bool PhaseSchedule::all_have_left() const {
  bool any = false;
  for (const record::PhaseSlot& slot : control_.phases) {
    if (slot.armed.load(std::memory_order_acquire) == 0) continue;
    if (slot.left.load(std::memory_order_acquire) == 0) return false;
    any = true;
  }
  return any;
}

bool PhaseSchedule::is_over(std::uint64_t now_ns) const {
  return left_ns_ != 0 && static_cast<double>(now_ns - left_ns_) / k_second_ns >= k_launcher_s;
}

std::optional<std::string> PhaseSchedule::overdue(std::uint64_t now_ns) const {
  if (armed_ns_ == 0) return std::nullopt;
  const double elapsed = static_cast<double>(now_ns - armed_ns_) / k_second_ns;
  if (elapsed < wants_.budget.value() + k_hung_s) return std::nullopt;
  for (std::uint32_t rank = 0; rank < record::k_max_ranks; ++rank) {
    const auto pid = static_cast<pid_t>(control_.ranks[rank].pid.load(std::memory_order_relaxed));
    if (control_.phases[rank].armed.load(std::memory_order_acquire) == 0 || pid <= 0) continue;
    if (kill(pid, 0) != 0 && errno == ESRCH) continue;  // its script ended by itself
    const double still = static_cast<double>(now_ns - moved_ns_) / k_second_ns;
    return "process " + std::to_string(pid) + " had not come to the end of the run " +
           std::to_string(static_cast<int>(elapsed)) + " s after its phases began: it took " +
           std::to_string(control_.phases[rank].turns.load(std::memory_order_relaxed)) + " batches, the last one " +
           std::to_string(static_cast<int>(still)) + " s before it was ended";
  }
  return std::nullopt;
}

}  // namespace stallcast::collect
