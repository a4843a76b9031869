#include "probes/collect/phase_schedule.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "probes/collect/phase_timing.hpp"

namespace stallcast::collect {
namespace {

using record::Phase;
using record::Segment;

constexpr double k_as_is_s = 3.0;           ///< as found, before the first round
constexpr double k_stream_block_s = 4.0;    ///< of a stream, which is read ahead and comes in lumps
constexpr std::uint64_t k_ring_turns = 10;  ///< the shim keeps the first batches for replay

const char* name_of(std::uint32_t phase) {
  constexpr const char* k_names[] = {"as found",     "cold",        "cached",       "synthetic",  "supply, cached",
                                     "supply, cold", "half cached", "slower reads", "slower prep"};
  return phase < std::size(k_names) ? k_names[phase] : "end";
}

}  // namespace

PhaseSchedule::PhaseSchedule(record::ControlBlock& control, PhaseWants wants)
    : control_(control), wants_(std::move(wants)) {}

PhaseSchedule::View PhaseSchedule::view() const {
  View view;
  for (std::uint32_t rank = 0; rank < record::k_max_ranks; ++rank) {
    const record::PhaseSlot& slot = control_.phases[rank];
    const auto support = static_cast<record::PhaseSupport>(slot.support.load(std::memory_order_relaxed));
    view.refused = view.refused || support == record::PhaseSupport::none;
    if (slot.armed.load(std::memory_order_acquire) == 0) continue;
    const std::uint64_t turns = slot.turns.load(std::memory_order_relaxed);
    if (!view.armed || turns < view.slowest_turn) view.slowest_segment = slot.segment.load(std::memory_order_relaxed);
    view.slowest_turn = view.armed ? std::min(view.slowest_turn, turns) : turns;
    view.fastest_turn = std::max(view.fastest_turn, turns);
    view.replay_only = view.replay_only || support == record::PhaseSupport::replay_only;
    view.missed += slot.missed.load(std::memory_order_relaxed);
    view.waited_ns += control_.ranks[rank].waited_ns.load(std::memory_order_relaxed);
    ++view.ranks;
    view.pass_first = slot.pass_first.load(std::memory_order_relaxed);
    view.pass_end = std::min(view.pass_end, slot.pass_end.load(std::memory_order_relaxed));
    view.workers = slot.workers.load(std::memory_order_relaxed);
    view.in_flight = view.workers * std::max(1U, slot.prefetch.load(std::memory_order_relaxed));
    view.armed = true;
  }
  if (taken_ > 0 && view.armed) view.pass_end = std::min(view.pass_end, view.pass_first + taken_);
  return view;
}

/// The segment that the slowest rank is in: supply batches come before the turn that they name, and of several supply
/// segments before one turn the rank says which. nullptr: as found.
const Segment* PhaseSchedule::current(const View& view) const {
  const std::uint32_t count = control_.segment_count.load(std::memory_order_relaxed);
  const Segment* found = nullptr;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Segment& segment = control_.segments[i];
    if (segment.phase == static_cast<std::uint32_t>(Phase::end)) break;
    const std::uint64_t turns = is_supply(segment) ? 1 : segment.batches;
    if (segment.first <= view.slowest_turn && view.slowest_turn < segment.first + turns) {
      const bool comes_first = found == nullptr || !is_supply(*found) || i + 1 == view.slowest_segment;
      if (comes_first) found = &segment;
    }
  }
  return found;
}

/// A script may leave its passes before their end: they are then as long as what it takes of them. How long those of a
/// stream are may not be known before one has ended: blocks are then planned anew.
void PhaseSchedule::follow_passes(const View& view) {
  if (view.pass_first == pass_first_ && pass_end_ > 0) return;
  const bool was_known = pass_end_ != UINT64_MAX;
  if (was_known && view.pass_first > pass_first_ && view.pass_first < pass_end_) taken_ = view.pass_first - pass_first_;
  if (was_known && joins_left_ > 0) --joins_left_;
  if (!was_known && view.pass_end != UINT64_MAX) {
    block_batches_ = 0;
    round_.clear();
  }
  pass_first_ = view.pass_first;
  pass_end_ = view.pass_end;
}

/// Rates as the ranks pass turns.
void PhaseSchedule::follow(const View& view, std::uint64_t now_ns) {
  costs_.follow(current(view), view.slowest_turn, now_ns);
  const double since_look = static_cast<double>(now_ns - last_look_ns_) / k_second_ns;
  if (since_look >= 0.2) {
    fastest_rate_ = std::max(fastest_rate_, static_cast<double>(view.fastest_turn - last_turn_) / since_look);
    last_look_ns_ = now_ns;
    last_turn_ = view.fastest_turn;
  }
}

/// Asks the ranks to join passes of `length` batches, which leave too little room for blocks. True while it is not
/// known whether they do: a pass under way ends as the script's own, and a loader that is made anew for each cannot go
/// on.
bool PhaseSchedule::awaits_joining(const View& view, std::uint64_t length) {
  constexpr std::uint64_t k_fewest_joined = 8;  // of fewer, most steps are the first or the last of their epoch
  constexpr int k_passes = 3;
  if (taken_ > 0 || view.replay_only || length < std::max<std::uint64_t>(k_fewest_joined, view.workers)) return false;
  if (control_.joins_passes.exchange(1, std::memory_order_relaxed) == 0) {
    joins_left_ = k_passes;
    joined_length_ = length;
  }
  return joins_left_ > 0;
}

/// Turns of a block that lies within an epoch; `wanted` where there is room. 0: there is none, or it is not known yet.
std::uint64_t PhaseSchedule::within_epoch(const View& view, std::uint64_t wanted, std::uint64_t transients) {
  const std::uint64_t length = view.pass_end - view.pass_first;
  const std::uint64_t times = reads_maps() ? 2 : 1;      // that a cached block goes over its lists
  const std::uint64_t lost = 2ULL * view.in_flight + 6;  // turns of an epoch that are gone before a block can begin
  // Cold and cached in one epoch; of maps, cached ones twice.
  const std::uint64_t half = length > lost ? (length - lost) / (1 + times) : 0;
  if (half < std::min(fewest_batches_, wanted) && awaits_joining(view, length)) return 0;
  const std::uint64_t fewest = transients + k_fewest_replayed;
  if (length < times * fewest) {
    obstacle_ = "an epoch of " + std::to_string(length) + " batches is too short for a block of " +
                std::to_string(times * fewest);
    return 0;
  }
  // Replayed batches are gone quickly: up to a whole epoch.
  most_synthetic_ = std::clamp<std::uint64_t>(2 * half, k_fewest_replayed, k_most_batches);
  return std::min({wanted, std::max(half, fewest), (length - 2) / times});
}

/// Turns of a block that goes on over the ends of joined passes. An evaluation between two of them leaves the queue
/// full: what was ready then does not count.
std::uint64_t PhaseSchedule::over_epochs(const View& view, std::uint64_t measured, std::uint64_t transients) const {
  const std::uint64_t lost = std::min<std::uint64_t>(view.in_flight + view.workers, joined_length_ * 3 / 4);
  return std::min(transients + measured * joined_length_ / (joined_length_ - lost), k_most_batches);
}

/// How long blocks are, from the rate as found and the length of an epoch.
void PhaseSchedule::plan_blocks(const View& view) {
  if (elapsed_s_ < k_as_is_s || view.slowest_turn < k_ring_turns) return;
  if (view.replay_only &&
      std::find(wants_.phases.begin(), wants_.phases.end(), Phase::synthetic) == wants_.phases.end()) {
    obstacle_ =
        "the loader is a stream, whose batches cannot be asked for twice; it can be profiled with --phases synthetic";
    return;
  }
  const double rate = rate_as_found_ > 0.0 ? rate_as_found_ : static_cast<double>(view.slowest_turn) / elapsed_s_;
  const std::uint64_t wanted =
      view.replay_only ? static_cast<std::uint64_t>(std::ceil(rate * k_stream_block_s)) : measured_batches(rate);
  const std::uint64_t measured = std::max({k_fewest_measured, std::uint64_t{view.workers}, wanted});
  const std::uint64_t transients = view.workers == 0 ? 1 : 2ULL * view.in_flight + view.workers;
  const std::uint64_t fewest = std::max(k_fewest_measured, std::uint64_t{view.workers});
  transients_ = transients;
  fewest_batches_ = transients + fewest;
  std::uint64_t batches = std::min(measured + transients, k_most_batches);
  if (view.pass_end != UINT64_MAX) {
    batches = within_epoch(view, batches, transients);
    if (batches == 0) return;
  } else if (joined_length_ > 0) {
    batches = over_epochs(view, measured, transients);
    fewest_batches_ = over_epochs(view, fewest, transients);
  }
  block_batches_ = batches;
  if (begun_.empty()) {
    begun_s_ = elapsed_s_;
    waited_share_ =
        static_cast<double>(view.waited_ns - waited_before_) / (elapsed_s_ * k_second_ns * std::max(1U, view.ranks));
  }
  rate_as_found_ = rate;
  next_turn_ = std::max(next_turn_, view.fastest_turn);
}

void PhaseSchedule::publish(Segment segment) {
  const std::uint32_t count = control_.segment_count.load(std::memory_order_relaxed);
  if (count >= record::k_max_segments) return;
  control_.segments[count] = segment;
  control_.segment_count.store(count + 1, std::memory_order_release);
}

/// First turn for which no rank can have asked for an index list before it reads what is published now.
std::uint64_t PhaseSchedule::earliest_turn(const View& view) const {
  return view.fastest_turn + 2ULL * view.in_flight + 4 +
         static_cast<std::uint64_t>(std::ceil(fastest_rate_ * k_look_s));
}

/// Where the next segment begins: behind what is published. A block does not straddle the end of an epoch: it then
/// begins with the next one. The blocks of a round up to the last cached one stay within one epoch where they fit:
/// workers that live for an epoch stage the files that they have read themselves. Absent while that is not known.
std::optional<std::uint64_t> PhaseSchedule::first_turn(const Segment& segment, const View& view) const {
  std::uint64_t first = std::max(next_turn_, earliest_turn(view));
  if (view.pass_end == UINT64_MAX) return first;
  const std::uint64_t length = is_supply(segment) ? 0 : segment.batches;
  const std::uint64_t epoch = view.pass_end - view.pass_first;
  const std::uint64_t together = std::min(together_, epoch) == together_ ? std::max(length, together_) : length;
  if (epoch == 0) return std::nullopt;  // the rank is writing it down
  std::uint64_t end = view.pass_end;
  while (end <= first) end += epoch;
  // Where a loader is made anew for each epoch, its first batches are under way before anyone can tell that it is
  // the one to be measured: a block at the very beginning was missed, and the next ones begin behind those.
  if (first + together >= end) first = end + (view.missed > 0 ? view.in_flight + 1 : 0);
  // Beyond the next epoch's end nothing is known to fit: wait until it has begun, where there is time for that.
  if (first >= view.pass_end + epoch && earliest_turn(view) < view.pass_end) return std::nullopt;
  return first;
}

/// The next segment of this round, or of a new one; nullptr where rounds are empty.
const Segment* PhaseSchedule::next_of_rounds(const View& view) {
  while (!round_.empty() && tells_nothing(round_.front(), view)) {
    round_.erase(round_.begin());
    if (round_.size() == extras_) round_ends_.push_back(next_turn_);
  }
  if (round_.empty()) begin_round(view);
  return round_.empty() ? nullptr : &round_.front();
}

bool PhaseSchedule::publish_next(const View& view) {
  const Segment* next = next_of_rounds(view);
  if (next == nullptr) return false;
  Segment segment = fitted(*next, view);
  const auto first = first_turn(segment, view);
  if (!first) return false;
  if (const auto filler = filler_before(*first, view)) {
    publish(*filler);
    next_turn_ = filler->first + filler->batches;
    return true;
  }
  segment.first = *first;
  const std::uint64_t length = is_supply(segment) ? 0 : segment.batches;
  round_.erase(round_.begin());
  together_ -= std::min(together_, length);
  note_staged(segment);
  publish(segment);
  next_turn_ = segment.first + length;
  if (round_.size() == extras_) round_ends_.push_back(next_turn_);
  return true;
}

void PhaseSchedule::step(std::uint64_t now_ns) {
  const View now = view();
  if (!now.armed) return;
  if (armed_ns_ == 0) {
    armed_ns_ = last_look_ns_ = moved_ns_ = now_ns;
    waited_before_ = now.waited_ns;
  }
  elapsed_s_ = static_cast<double>(now_ns - armed_ns_) / k_second_ns;
  complete_rounds_ = static_cast<int>(std::count_if(round_ends_.begin(), round_ends_.end(),
                                                    [&](std::uint64_t end) { return end <= now.slowest_turn; }));
  if (now.slowest_turn != moved_turn_) {
    moved_turn_ = now.slowest_turn;
    moved_ns_ = now_ns;
  }
  cut_if_late(now, now_ns);
  if (ended_ && left_ns_ == 0 && all_have_left()) left_ns_ = now_ns;
  if (ended_) return;
  follow_passes(now);
  if (!obstacle_.empty()) {
    follow(now, now_ns);
    end_in_time(now, now_ns);
    return;
  }
  if (block_batches_ == 0) plan_blocks(now);
  follow(now, now_ns);
  if (block_batches_ == 0) return;
  if (enough_ && complete_rounds_ >= wants_.fewest_rounds) {
    end_at_once(now);
    return;
  }
  const double ahead = 2.0 * now.in_flight + 6.0 + fastest_rate_ * 2.0 * k_look_s;
  while (static_cast<double>(next_turn_) < static_cast<double>(now.fastest_turn) + ahead) {
    if (out_of_time(now)) {
      end_behind_all();
      return;
    }
    if (!publish_next(now)) return;
  }
}

std::uint64_t PhaseSchedule::missed() const {
  return view().missed;
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
