#include "probes/collect/phase_schedule.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "probes/collect/phase_timing.hpp"

namespace stallcast::collect {
namespace {

using record::Phase;
using record::Segment;

constexpr double k_as_is_s = 3.0;  ///< as found, before the first round
constexpr double k_synthetic_s = 1.0;
constexpr double k_block_s = 1.5;                ///< measured part of a block, at the rate as found
constexpr double k_cached_s = 2.0;               ///< of blocks from memory, at the rate that they have had so far
constexpr double k_stream_block_s = 4.0;         ///< of a stream, which is read ahead and comes in lumps
constexpr std::uint64_t k_fewest_measured = 12;  ///< and no fewer than there are workers: batches come in bunches
constexpr std::uint64_t k_most_batches = 400;
constexpr std::uint64_t k_fewest_replayed = 8;
constexpr std::uint64_t k_slack_turns = 2;
constexpr std::uint64_t k_ring_turns = 10;  ///< the shim keeps the first batches for replay
constexpr double k_keeps_up = 0.8;          ///< of the rate without a loader: one that hardly keeps the script waiting
constexpr std::uint64_t k_added_read_ns = 500'000;
constexpr std::uint64_t k_added_cpu_ns = 500'000;

Segment segment_of(Phase phase, std::uint64_t batches, std::uint32_t round) {
  Segment segment{};
  segment.phase = static_cast<std::uint32_t>(phase);
  segment.batches = static_cast<std::uint32_t>(batches);
  segment.round = round;
  return segment;
}

/// Files are staged by the workers that read them earlier in the same round: in a cold block, or where none is wanted
/// in one as found.
bool needs_warming(const std::vector<Phase>& phases) {
  const auto first = std::find_if(phases.begin(), phases.end(), [](Phase phase) { return phase != Phase::synthetic; });
  return first != phases.end() && *first != Phase::cold && *first != Phase::supply_cold;
}

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
  for (const record::PhaseSlot& slot : control_.phases) {
    const auto support = static_cast<record::PhaseSupport>(slot.support.load(std::memory_order_relaxed));
    view.refused = view.refused || support == record::PhaseSupport::none;
    if (slot.armed.load(std::memory_order_acquire) == 0) continue;
    const std::uint64_t turns = slot.turns.load(std::memory_order_relaxed);
    view.slowest_turn = view.armed ? std::min(view.slowest_turn, turns) : turns;
    view.fastest_turn = std::max(view.fastest_turn, turns);
    view.replay_only = view.replay_only || support == record::PhaseSupport::replay_only;
    view.missed += slot.missed.load(std::memory_order_relaxed);
    view.pass_first = slot.pass_first.load(std::memory_order_relaxed);
    view.pass_end = std::min(view.pass_end, slot.pass_end.load(std::memory_order_relaxed));
    view.workers = slot.workers.load(std::memory_order_relaxed);
    view.in_flight = view.workers * std::max(1U, slot.prefetch.load(std::memory_order_relaxed));
    view.armed = true;
  }
  if (taken_ > 0 && view.armed) view.pass_end = std::min(view.pass_end, view.pass_first + taken_);
  return view;
}

/// The segment that the slowest rank is in: supply batches come before the turn that they name. nullptr: as found.
const Segment* PhaseSchedule::current(const View& view) const {
  const std::uint32_t count = control_.segment_count.load(std::memory_order_relaxed);
  const Segment* found = nullptr;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Segment& segment = control_.segments[i];
    if (segment.phase == static_cast<std::uint32_t>(Phase::end)) break;
    const std::uint64_t turns = is_supply(segment) ? 1 : segment.batches;
    if (segment.first <= view.slowest_turn && view.slowest_turn < segment.first + turns) {
      if (is_supply(segment)) return &segment;
      found = &segment;
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
  if (!was_known && view.pass_end != UINT64_MAX) {
    block_batches_ = 0;
    round_.clear();
  }
  pass_first_ = view.pass_first;
  pass_end_ = view.pass_end;
}

/// Rates as the ranks pass turns, and the rounds they have completed.
void PhaseSchedule::follow(const View& view, std::uint64_t now_ns) {
  costs_.follow(current(view), view.slowest_turn, now_ns);
  const double since_look = static_cast<double>(now_ns - last_look_ns_) / k_second_ns;
  if (since_look >= 0.2) {
    fastest_rate_ = std::max(fastest_rate_, static_cast<double>(view.fastest_turn - last_turn_) / since_look);
    last_look_ns_ = now_ns;
    last_turn_ = view.fastest_turn;
  }
  complete_rounds_ = static_cast<int>(std::count_if(round_ends_.begin(), round_ends_.end(),
                                                    [&](std::uint64_t end) { return end <= view.slowest_turn; }));
}

/// How long blocks are, from the rate as found and the length of an epoch.
void PhaseSchedule::plan_blocks(const View& view, std::uint64_t now_ns) {
  const double elapsed = static_cast<double>(now_ns - armed_ns_) / k_second_ns;
  if (elapsed < k_as_is_s || view.slowest_turn < k_ring_turns) return;
  if (view.replay_only &&
      std::find(wants_.phases.begin(), wants_.phases.end(), Phase::synthetic) == wants_.phases.end()) {
    obstacle_ =
        "the loader is a stream, whose batches cannot be asked for twice; it can be profiled with --phases synthetic";
    return;
  }
  const double rate = rate_as_found_ > 0.0 ? rate_as_found_ : static_cast<double>(view.slowest_turn) / elapsed;
  const double block_s = view.replay_only ? k_stream_block_s : k_block_s;
  const auto measured =
      std::max({k_fewest_measured, std::uint64_t{view.workers}, static_cast<std::uint64_t>(std::ceil(rate * block_s))});
  const std::uint64_t transients = view.workers == 0 ? 1 : 2ULL * view.in_flight + view.workers;
  std::uint64_t batches = std::min(measured + transients, k_most_batches);
  if (view.pass_end != UINT64_MAX) {
    const std::uint64_t length = view.pass_end - view.pass_first;
    const std::uint64_t times = reads_maps() ? 2 : 1;  // that a cached block goes over its lists
    if (length < times * (transients + 8)) {
      obstacle_ = "an epoch of " + std::to_string(length) + " batches is too short for a block of " +
                  std::to_string(times * (transients + 8));
      return;
    }
    const std::uint64_t lost = 2ULL * view.in_flight + 6;  // turns of an epoch that are gone before a block can begin
    // Cold and cached in one epoch; of maps, cached ones twice.
    const std::uint64_t half = length > lost ? (length - lost) / (1 + times) : 0;
    batches = std::min({batches, std::max(half, transients + 8), (length - 2) / times});
    // Replayed batches are gone quickly: up to a whole epoch.
    most_synthetic_ = std::clamp<std::uint64_t>(2 * half, k_fewest_replayed, k_most_batches);
  }
  block_batches_ = batches;
  fewest_batches_ = transients + std::max(k_fewest_measured, std::uint64_t{view.workers});
  rate_as_found_ = rate;
  next_turn_ = std::max(next_turn_, view.fastest_turn);
}

/// One further block a round, so that the model has something to be fitted on.
std::optional<Segment> PhaseSchedule::extra(const View& view) const {
  if (reads_maps()) {  // no half of a map can be evicted, no read of it delayed
    if (view.workers < 2) return std::nullopt;
    // Cold ones tell what of the waiting is shared by readers, which no probe of the storage tells of such data. A
    // worker that rests keeps the pages that it has mapped: those of a cold block just before are few.
    const auto& wanted = wants_.phases;
    const bool has_cold = std::find(wanted.begin(), wanted.end(), Phase::supply_cold) != wanted.end();
    Segment fewer = block(has_cold && next_round_ % 2 == 0 ? Phase::cold : Phase::cached);
    fewer.workers = view.workers / 2;
    return fewer;
  }
  Segment segment = segment_of(Phase::cached, block_batches_, next_round_);
  // One block has no interval: two of a kind come before the next, and a job of few rounds has one kind at least.
  constexpr std::uint32_t k_order[] = {0, 0, 1, 1, 2, 2, 3, 3};
  const std::uint32_t left_out = view.workers < 2 ? 2 : 0;  // no fewer workers to be had
  switch (k_order[left_out + next_round_ % (std::size(k_order) - left_out)]) {
    case 0:
      segment.workers = std::max(1U, view.workers / 2);
      return segment;
    case 1:
      segment = segment_of(Phase::half_cached, block_batches_, next_round_);
      segment.seed = next_round_ + 1;
      return segment;
    case 2:
      segment = segment_of(Phase::perturb_cpu, block_batches_, next_round_);
      segment.argument = k_added_cpu_ns;
      return segment;
    default:
      segment = segment_of(Phase::perturb_read, block_batches_, next_round_);
      segment.argument = k_added_read_ns;
      return segment;
  }
}

/// Whether batches are made of what lies in maps of files. Nobody knows which pages of those a sample needs until it
/// has had them.
bool PhaseSchedule::reads_maps() const {
  return control_.maps_read.load(std::memory_order_relaxed) != 0;
}

/// Of a cold block. What the kernel reads around a page soon has mapped data in memory: the rate as found says nothing
/// of cold batches then.
std::uint64_t PhaseSchedule::cold_batches() const {
  if (!reads_maps()) return block_batches_;
  const auto wanted = static_cast<std::uint64_t>(std::ceil(costs_.batches_per_s(Phase::cold) * k_block_s));
  return std::min(block_batches_, std::max(fewest_batches_, wanted));
}

/// At the fastest rate seen, which is that of replayed batches once there were some. The workers rest meanwhile: the
/// shim holds back what would be made next.
std::uint64_t PhaseSchedule::synthetic_batches() const {
  const auto wanted = static_cast<std::uint64_t>(std::ceil(fastest_rate_ * k_synthetic_s));
  return std::clamp<std::uint64_t>(wanted, k_fewest_replayed, most_synthetic_);
}

/// A block of `phase`. Batches from memory may be gone in a fraction of the time that the same ones take from storage,
/// and a short block tells little: it then goes over them several times.
Segment PhaseSchedule::block(Phase phase) const {
  constexpr std::uint64_t k_most_times = 4;
  constexpr double k_of_epoch = 0.6;  // a longer one waits for the next epoch to begin
  Segment segment = segment_of(phase, block_batches_, next_round_);
  if (phase == Phase::cold || phase == Phase::supply_cold) segment.batches = static_cast<std::uint32_t>(cold_batches());
  if (phase != Phase::cached && phase != Phase::supply_cached) return segment;
  const auto wanted = static_cast<std::uint64_t>(std::ceil(costs_.batches_per_s(Phase::cached) * k_cached_s));
  const std::uint64_t first = reads_maps() ? cold_batches() : 0;  // to come into memory
  std::uint64_t most = std::min(k_most_times * block_batches_, k_most_batches);
  if (pass_end_ != UINT64_MAX) {
    const auto room = static_cast<std::uint64_t>(k_of_epoch * static_cast<double>(pass_end_ - pass_first_));
    const std::uint64_t before = block_batches_ + first;  // a cold one comes before it
    most = std::min(most, room > before ? room - before : 0);
  }
  segment.batches = static_cast<std::uint32_t>(first + std::max(block_batches_, std::min(wanted, most)));
  if (segment.batches > block_batches_) segment.seed = static_cast<std::uint32_t>(cold_batches());
  return segment;
}

/// Where the loader keeps the script waiting, a cold supply block takes as long as a cold one and says little beyond
/// it: then every second round does without.
bool PhaseSchedule::tells_nothing(const Segment& segment) const {
  return segment.phase == static_cast<std::uint32_t>(Phase::supply_cold) && segment.round % 2 == 1 &&
         wants_.phases.size() > 1 &&
         costs_.batches_per_s(Phase::cold) < k_keeps_up * costs_.batches_per_s(Phase::synthetic);
}

void PhaseSchedule::begin_round(const View& view) {
  const std::vector<Phase> phases = view.replay_only ? std::vector{Phase::synthetic} : wants_.phases;
  if (needs_warming(phases) || view.replay_only) {
    round_.push_back(segment_of(Phase::as_is, block_batches_, next_round_));
  }
  for (const Phase phase : phases) {
    const bool replayed = phase == Phase::synthetic;
    round_.push_back(replayed ? segment_of(phase, synthetic_batches(), next_round_) : block(phase));
  }
  const auto more = wants_.extras && !view.replay_only ? extra(view) : std::nullopt;
  if (more) round_.push_back(*more);
  extras_ = more ? 1 : 0;
  together_ = k_slack_turns;
  for (const Segment& segment : round_) {
    if (segment.phase == static_cast<std::uint32_t>(Phase::synthetic)) break;
    together_ += is_supply(segment) ? 0 : segment.batches;
  }
  ++next_round_;
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
  if (!round_.empty() && tells_nothing(round_.front())) {
    round_.erase(round_.begin());
    if (round_.size() == extras_) round_ends_.push_back(next_turn_);
  }
  if (round_.empty()) begin_round(view);
  return round_.empty() ? nullptr : &round_.front();
}

bool PhaseSchedule::publish_next(const View& view) {
  const Segment* next = next_of_rounds(view);
  if (next == nullptr) return false;
  Segment segment = *next;
  const auto first = first_turn(segment, view);
  if (!first) return false;
  segment.first = *first;
  const std::uint64_t length = is_supply(segment) ? 0 : segment.batches;
  round_.erase(round_.begin());
  together_ -= std::min(together_, length);
  publish(segment);
  next_turn_ = segment.first + length;
  if (round_.size() == extras_) round_ends_.push_back(next_turn_);
  return true;
}

void PhaseSchedule::step(std::uint64_t now_ns) {
  const View now = view();
  if (!now.armed) return;
  if (armed_ns_ == 0) armed_ns_ = last_look_ns_ = moved_ns_ = now_ns;
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
  if (block_batches_ == 0) plan_blocks(now, now_ns);
  follow(now, now_ns);
  if (block_batches_ == 0) return;
  if (enough_ && complete_rounds_ >= wants_.fewest_rounds) {
    end_at_once(now);
    return;
  }
  const double ahead = 2.0 * now.in_flight + 6.0 + fastest_rate_ * 2.0 * k_look_s;
  while (static_cast<double>(next_turn_) < static_cast<double>(now.fastest_turn) + ahead) {
    if (out_of_time(now, now_ns)) {
      publish_end();
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
