/// What a round consists of, and how long each part of it is.
#include <algorithm>
#include <cmath>

#include "probes/collect/schedule/constants.hpp"
#include "probes/collect/schedule/phase_schedule.hpp"
#include "probes/collect/schedule/phase_timing.hpp"

namespace stallcast::collect {
namespace {

using record::Phase;
using record::Segment;

}  // namespace

/// Turns of a block of `batches`, where it goes on over the ends of passes: what the beginning and the end of each take
/// comes on top.
///
/// Worked example. Passes of 30 turns, 4 under way, 2 workers: 20 of a pass are measured. A block of 24 takes two
/// passes.
std::uint64_t PhaseSchedule::over_passes(std::uint64_t batches, const View& view) const {
  const std::uint64_t length = view.pass_length();
  if (!spans_ || length == 0) return batches;
  const std::uint64_t lost = 2ULL * view.in_flight + view.workers;
  const std::uint64_t measured = batches - std::min(batches, transients_);
  const std::uint64_t each = length > lost + 4 ? length - lost : std::max<std::uint64_t>(1, length / 4);
  return std::min((measured + each - 1) / each * length, k_most_block_batches);
}

/// A block that the script goes through in the state of `phase`.
Segment PhaseSchedule::block(Phase phase, const View& view) const {
  std::uint64_t batches = block_batches_;
  const double rate = costs_.batches_per_s(phase);
  if (phase == Phase::cold) {
    const double block_s = view.not_ahead ? k_block_s : cold_block_s();
    const auto for_so_long = [&](double of) {
      return transients_ + std::max<std::uint64_t>(measured_batches(of, block_s), view.workers);
    };
    if (!view.not_ahead) batches = std::max(batches, std::min(for_so_long(rate_as_found_), k_most_block_batches));
    if (rate > 0.0 && rate < rate_as_found_) batches = std::min(batches, for_so_long(rate));
  }
  if (phase == Phase::cold && rate == 0.0 && !was_found_cold()) {
    batches = std::min(batches, transients_ + std::max<std::uint64_t>(k_fewest_block_batches, view.workers));
  }
  // What workers that wait for storage make tells the rate of a job that comes to wait for them. What was under way
  // when the block began may have been ready.
  if (phase == Phase::cold && reads_in_gaps(view) && makers_mostly_wait()) {
    const std::uint64_t fewest = std::uint64_t{view.in_flight} + view.workers + 1;
    batches = std::min(batches, std::max(measured_batches(rate_as_found_), fewest));
  }
  if (phase == Phase::cached && rate > rate_as_found_) {
    const auto wanted = static_cast<std::uint64_t>(std::ceil(rate * k_cached_block_s)) + transients_;
    batches = std::clamp(wanted, batches, std::min(2 * batches, k_most_block_batches));
  }
  // A queue that was found empty fills while the block has begun.
  if (phase == Phase::cached && waited_share_ >= k_hardly_waited_share) {
    batches = std::min(batches + view.in_flight, k_most_block_batches);
  }
  // From memory nothing comes in lumps, and what is held of a stream is no more than needed.
  const bool is_held_ahead = phase == Phase::cached && goes_by_position(view);
  if (phase == Phase::as_is || (view.not_ahead && !is_held_ahead)) {
    const double expected = rate > 0.0 && phase != Phase::as_is ? rate : rate_as_found_;
    batches = std::max(batches, static_cast<std::uint64_t>(std::ceil(expected * k_stream_block_s)));
    batches = std::min(batches, k_most_block_batches);
  }
  if (phase == Phase::cold && view.not_ahead && files_ != nullptr) {
    batches = std::clamp(k_windows_of_cold_block * files_->turns_read_ahead(), batches, k_most_block_batches);
    batches = std::max(batches, turns_of_shards(view));
  }
  return segment_of(phase, batches, view);
}

/// Of blocks that hold a whole shard of each worker the rate needs no correction of what was read ahead
/// (analyzer/blocks/whole_shards). And where a worker takes much into memory at once, storage gives nothing until it
/// reads again: a block holds both. 0: neither is known, or it would take too much of the budget.
///
/// Worked example. Of 4 workers, 8 batches under way, each opens a shard every 25 batches: 100 turns, 8 that may have
/// been under way before, 4 of which each worker has one, and the block's transients.
std::uint64_t PhaseSchedule::turns_of_shards(const View& view) const {
  const std::uint64_t workers = std::max(1U, view.workers);
  const double cold = costs_.batches_per_s(Phase::cold);
  const double rate = cold > 0.0 ? std::min(cold, rate_as_found_) : rate_as_found_;
  for (const std::uint64_t apart : {files_->batches_between_opens(), files_->batches_between_reads()}) {
    const std::uint64_t turns = apart * workers + view.in_flight + workers + transients_;
    if (apart > 1 && static_cast<double>(turns) <= k_most_of_budget_for_shards * wants_.budget.value() * rate)
      return turns;
  }
  return 0;
}

/// Where the files of a group take long to be read, a round has few batches from storage beside what it costs: a cold
/// block is longer then, which costs little more. Not one of a slow job that is read for in gaps (block()): what is
/// read there costs it nothing.
///
/// Worked example. 8 s of reading for a block of 2 s from memory, beside a cold one of 1.5 s: of 64 s, 9 s told the
/// cold rate. With 4 s, 18 s do.
double PhaseSchedule::cold_block_s() const {
  const bool maps = control_.maps_read.load(std::memory_order_relaxed) != 0;  // emptied for each batch: it is slow
  if (is_behind() || maps) return k_block_s;
  return std::clamp(k_cold_to_reading * lead_.took_s, k_block_s, k_longest_cold_block_s);
}

/// Whole steps of it.
Segment PhaseSchedule::segment_of(Phase phase, std::uint64_t batches, const View& view) const {
  const double every = std::max(1.0, std::round(view.batches_a_step));
  const auto steps = static_cast<std::uint64_t>(every);
  Segment segment{};
  segment.phase = static_cast<std::uint32_t>(phase);
  segment.batches = static_cast<std::uint32_t>((over_passes(batches, view) + steps - 1) / steps * steps);
  segment.round = round_;
  return segment;
}

bool PhaseSchedule::makers_mostly_wait() const {
  const std::uint64_t blocked_ns = control_.made_blocked_ns.load(std::memory_order_relaxed);
  return control_.made_batches.load(std::memory_order_relaxed) >= k_fewest_made &&
         2 * blocked_ns > control_.made_wall_ns.load(std::memory_order_relaxed);
}

/// Whether batches from storage are likely to come as quickly as they did as found. Of a job that found its data in
/// memory they may take a hundred times as long, and of one that reads through maps, too: these are emptied for each
/// batch, with what the kernel read around the pages of others.
bool PhaseSchedule::was_found_cold() const {
  return makers_mostly_wait() && control_.maps_read.load(std::memory_order_relaxed) == 0;
}

/// By the CPU time that making a batch took so far: from memory it takes no longer than that on a core of its own. With
/// a margin of as much again, as the script computes beside it. The batch that is given last is to be made within a
/// step, or all never lie ready.
///
/// Worked example. 16 batches under way of 41 ms each, on 2 cores: 0.33 s, with the margin 0.66 s, in which a job of
/// steps of 250 ms takes 3 turns.
std::uint64_t PhaseSchedule::turns_to_fill(const View& view) const {
  const std::uint64_t made = control_.made_batches.load(std::memory_order_relaxed);
  if (!reads_in_gaps(view) || made < k_fewest_made || spans_ || view.not_ahead) return 0;
  const double cpu_ns = static_cast<double>(control_.made_cpu_ns.load(std::memory_order_relaxed));
  const double batch_s = cpu_ns / static_cast<double>(made) / k_second_ns;
  const auto cores = static_cast<double>(std::min<std::size_t>(wants_.cores, view.workers));
  const double step_s = (1.0 - waited_share_) / rate_as_found_;
  const double turns = 2.0 * static_cast<double>(view.in_flight * view.ranks) * batch_s / cores / step_s;
  const double filling = std::ceil(turns) + 1.0;
  const bool is_quick = 2.0 * batch_s <= step_s && 2.0 * filling <= static_cast<double>(view.in_flight);
  return is_quick ? static_cast<std::uint64_t>(filling) : 0;
}

/// Batches of a burst: all that is under way, or of slow ones from storage as many as are made before the script has
/// been held for too long, in whole steps. 0: too few are.
///
/// Worked example. 16 workers with 2 batches each bring 1.6 a second: 11 of 32 in 7 s.
std::uint32_t PhaseSchedule::burst_batches(Phase made_as, const View& view) const {
  std::uint32_t batches = view.in_flight;
  if (made_as != Phase::cached && rate_as_found_ > 0.0 && makers_mostly_wait()) {
    const double cold = costs_.batches_per_s(made_as);
    const double made = k_hold_s * (cold > 0.0 ? std::min(cold, rate_as_found_) : rate_as_found_);
    if (made < view.in_flight) batches = static_cast<std::uint32_t>(made);
    if (batches < std::min(k_fewest_burst_batches, view.in_flight)) return 0;
  }
  const auto steps = static_cast<std::uint32_t>(std::max(1.0, std::round(view.batches_a_step)));
  if (steps <= 1 || steps > view.in_flight) return batches;
  return batches < steps ? 0 : batches - batches % steps;
}

/// A hold, and what was made in it at once.
Segment PhaseSchedule::burst(Phase made_as, const View& view) const {
  Segment segment{};
  segment.phase = static_cast<std::uint32_t>(Phase::synthetic);
  segment.made_as = static_cast<std::uint32_t>(made_as);
  segment.round = round_;
  segment.batches = burst_batches(made_as, view);
  return segment;
}

/// Whether what a loader brings in the state is told by bursts.
bool PhaseSchedule::wants_supply(Phase made_as) const {
  return made_as == Phase::cold ? wants(Phase::supply_cold) : wants(Phase::supply_cached);
}

/// How many bursts end a group. A job that does not wait, as few do from memory, has its queue full when it is held:
/// what its loader could do shows in a second hold, which begins with an empty one. Fewer where the script has been
/// held for its share.
int PhaseSchedule::bursts(Phase made_as, const View& view) const {
  if (view.workers == 0 || !(wants(Phase::synthetic) || wants_supply(made_as))) return 0;
  if (burst_batches(made_as, view) == 0) return 0;
  if (static_cast<double>(view.held_ns) > k_most_held_time * elapsed_s_ * k_second_ns) return 1;
  const auto for_turns = static_cast<int>((k_burst_batches + view.in_flight - 1) / view.in_flight);
  const bool may_be_full = made_as == Phase::cached || waited_share_ < k_hardly_waited_share;
  return std::clamp(std::max(for_turns, may_be_full ? 2 : 1), 1, k_most_bursts);
}

bool PhaseSchedule::is_slow(const View& view) const {
  return view.in_flight > k_long_burst_s * rate_as_found_;
}

bool PhaseSchedule::is_behind() const {
  const double done = static_cast<double>(cached_rounds_) / static_cast<double>(wants_.fewest_rounds + 1);
  const double begun_s = std::max(0.0, memory_from_s_);
  return elapsed_s_ - begun_s > done * (wants_.budget.value() - begun_s);
}

bool PhaseSchedule::ends_soon() const {
  const double round_s = (elapsed_s_ - std::max(0.0, memory_from_s_)) / std::max(1, cached_rounds_);
  return wants_.budget.value() - elapsed_s_ < k_last_rounds * round_s;
}

PhaseSchedule::Group PhaseSchedule::cold_group(const View& view) const {
  Group group;
  if (!wants(Phase::cold)) return group;
  group.push_back(block(Phase::cold, view));
  for (int i = bursts(Phase::cold, view); i > 0; --i) group.push_back(burst(Phase::cold, view));
  return group;
}

/// Where all that is under way lies ready soon, as soon the state that the block begins with is over: its rate is that
/// of the turns in which it does (analyzer/blocks/windows.cpp).
Segment PhaseSchedule::cached_block(const View& view, bool behind_burst) const {
  if (const std::uint64_t filling = turns_to_fill(view); filling > 0) {
    const std::uint64_t measured = measured_batches(rate_as_found_ / (1.0 - waited_share_));
    return segment_of(Phase::cached, filling + measured + view.in_flight, view);
  }
  Segment segment = block(Phase::cached, view);
  const auto steps = static_cast<std::uint32_t>(std::max(1.0, std::round(view.batches_a_step)));
  if (behind_burst) segment.batches -= view.workers / steps * steps;
  return segment;
}

PhaseSchedule::Group PhaseSchedule::cached_group(const View& view, bool behind_burst) const {
  Group group{cached_block(view, behind_burst)};
  // Of a job of long steps the first groups have no bursts and no further block: they are most of what is to be read
  // into memory, and a single burst tells nothing that those of cold groups do not, as the queue is full.
  const bool is_first = cached_rounds_ < wants_.fewest_rounds;
  const bool is_lean = (is_first && (is_slow(view) || is_behind())) || ends_soon();
  int count = bursts(Phase::cached, view);
  if (is_slow(view) && (is_first || count < 2) && bursts(Phase::cold, view) > 0) count = 0;
  for (int i = count; i > 0; --i) group.push_back(burst(Phase::cached, view));
  // Of a stream it would take as much again of shards that end.
  const bool has_extra = wants_.extras && !spans_ && !is_lean && !goes_by_position(view);
  const auto more = has_extra ? extra(view) : std::nullopt;
  if (more && (view.pass_length() == 0 || turns_of(group) + more->batches + view.in_flight < view.pass_length())) {
    group.push_back(*more);
  }
  return group;
}

std::uint64_t PhaseSchedule::turns_of(const Group& group) {
  std::uint64_t turns = 0;
  for (const Segment& segment : group) turns += segment.batches;
  return turns;
}

/// Of a loader whose files nobody can choose: as found, then alone. `bursts_alone`: of another one, of which nothing
/// else is wanted; what lies between its bursts is as found, and no block. Empty: a hold is too short for a burst.
PhaseSchedule::Group PhaseSchedule::found_group(bool bursts_alone, const View& view) const {
  const bool has_bursts = view.workers > 0 && burst_batches(Phase::as_is, view) > 0;
  Group group;
  if (!bursts_alone || view.workers == 0) group.push_back(block(Phase::as_is, view));
  if (!has_bursts) return group;
  const auto for_turns = static_cast<int>((k_burst_batches + view.in_flight - 1) / view.in_flight);
  const int count = bursts_alone ? std::min(for_turns, k_most_bursts) : std::max(1, bursts(Phase::as_is, view));
  for (int i = 0; i < count; ++i) group.push_back(burst(Phase::as_is, view));
  return group;
}

/// One further block a round, so that the model has something to be fitted on.
std::optional<Segment> PhaseSchedule::extra(const View& view) const {
  Segment segment = block(Phase::cached, view);
  const bool maps = control_.maps_read.load(std::memory_order_relaxed) != 0;  // no delay of their reads
  if (maps && (view.workers < 2 || view.batches_a_step >= k_several_batches)) return std::nullopt;
  // One block has no interval: two of a kind come before the next, and a job of few rounds has one kind at least.
  constexpr std::uint32_t k_order[] = {0, 0, 1, 1, 2, 2};
  // No fewer at a time to be had. A step of several batches waits for all but the first of them where one is under way
  // at a time, which a worker with its prefetched batches would have ready.
  const std::uint32_t left_out = view.workers < 2 || view.batches_a_step >= k_several_batches ? 2 : 0;
  const auto done = static_cast<std::uint32_t>(extras_);
  switch (maps ? 0U : k_order[left_out + done % (std::size(k_order) - left_out)]) {
    case 0:
      segment.at_once = std::max(1U, view.workers / 2);
      return segment;
    case 1:
      segment.phase = static_cast<std::uint32_t>(Phase::perturb_cpu);
      segment.argument = k_added_cpu_ns;
      return segment;
    default:
      segment.phase = static_cast<std::uint32_t>(Phase::perturb_read);
      segment.argument = k_added_read_ns;
      return segment;
  }
}

}  // namespace stallcast::collect
