/// What a round of blocks consists of, and how long each of them is.
#include <algorithm>
#include <cmath>

#include "probes/collect/phase_schedule.hpp"
#include "probes/collect/phase_timing.hpp"

namespace stallcast::collect {
namespace {

using record::Phase;
using record::Segment;

constexpr double k_synthetic_s = 1.0;
constexpr double k_cached_s = 2.0;  ///< of blocks from memory, at the rate that they have had so far
constexpr std::uint64_t k_slack_turns = 2;
constexpr double k_keeps_up = 0.8;  ///< of the rate without a loader: one that hardly keeps the script waiting
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

}  // namespace

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
  Segment segment = repeating(segment_of(Phase::cached, block_batches_, next_round_));
  // One block has no interval: two of a kind come before the next, and a job of few rounds has one kind at least.
  constexpr std::uint32_t k_order[] = {0, 0, 1, 1, 2, 2, 3, 3};
  const std::uint32_t left_out = view.workers < 2 ? 2 : 0;  // no fewer workers to be had
  switch (k_order[left_out + next_round_ % (std::size(k_order) - left_out)]) {
    case 0:
      segment.workers = std::max(1U, view.workers / 2);
      return segment;
    case 1:
      segment.phase = static_cast<std::uint32_t>(Phase::half_cached);
      segment.batches = static_cast<std::uint32_t>(std::min(block_batches_, 2 * cold_batches()));
      segment.seed = next_round_ + 1;
      return segment;
    case 2:
      segment.phase = static_cast<std::uint32_t>(Phase::perturb_cpu);
      segment.argument = k_added_cpu_ns;
      return segment;
    default:
      segment.phase = static_cast<std::uint32_t>(Phase::perturb_read);
      segment.argument = k_added_read_ns;
      return segment;
  }
}

/// Whether batches are made of what lies in maps of files. Nobody knows which pages of those a sample needs until it
/// has had them.
bool PhaseSchedule::reads_maps() const {
  return control_.maps_read.load(std::memory_order_relaxed) != 0;
}

/// Of a cold block. Where the job was found with its data in memory, cold batches take longer than those as found, and
/// as many of them would take the time of whole rounds. What the kernel reads around a page soon has mapped data in
/// memory: the rate as found says nothing of cold batches then.
///
/// Worked example. 40 batches/s as found: blocks of 70, 10 of which are transients. Cold ones turn out to come at 10/s:
/// they are 10 + 24 from then on, and blocks from memory go over these.
std::uint64_t PhaseSchedule::cold_batches() const {
  const double cold = costs_.batches_per_s(Phase::cold);
  if (!reads_maps() && !(cold > 0.0 && cold < rate_as_found_)) return block_batches_;
  const std::uint64_t wanted =
      reads_maps() ? static_cast<std::uint64_t>(std::ceil(cold * k_block_s)) : transients_ + measured_batches(cold);
  return std::min(block_batches_, std::max(fewest_batches_, wanted));
}

/// Blocks from memory that are longer than those that have brought the data there go over their lists again and again.
Segment PhaseSchedule::repeating(Segment segment) const {
  if (segment.batches > cold_batches()) segment.lists = static_cast<std::uint32_t>(cold_batches());
  return segment;
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
    const std::uint64_t before = cold_batches() + first;  // a cold one comes before it
    most = std::min(most, room > before ? room - before : 0);
  }
  segment.batches = static_cast<std::uint32_t>(first + std::max(block_batches_, std::min(wanted, most)));
  return repeating(segment);
}

/// As replayed batches come, or, until there were some, as what the script does not wait for lets them.
double PhaseSchedule::rate_without_loader() const {
  constexpr double k_most_waited = 0.98;
  const double replayed = costs_.batches_per_s(Phase::synthetic);
  return replayed > 0.0 ? replayed : rate_as_found_ / (1.0 - std::min(waited_share_, k_most_waited));
}

/// Where the loader keeps the script waiting, a supply block takes as long as a cold or a cached one and says little
/// beyond it: then every second round does without, and all do until there is time for it.
bool PhaseSchedule::tells_nothing(const Segment& segment, const View& view) const {
  if (!is_supply(segment) || wants_.phases.size() < 2) return false;
  const bool is_cold = segment.phase == static_cast<std::uint32_t>(Phase::supply_cold);
  const double known = costs_.batches_per_s(is_cold ? Phase::cold : Phase::cached);
  const double like = known > 0.0 ? known : rate_as_found_;
  const bool stalls = like < k_keeps_up * rate_without_loader();
  return stalls && (segment.round % 2 == 1 || !leaves_time(segment, view));
}

/// Turn after the last one of the epoch that `turn` lies in. Only where the length of epochs is known.
std::uint64_t PhaseSchedule::epoch_end(std::uint64_t turn, const View& view) const {
  const std::uint64_t length = view.pass_end - view.pass_first;
  std::uint64_t end = view.pass_end;
  while (length > 0 && end <= turn) end += length;
  return end;
}

/// Replayed batches vary little: rather than wait for the next epoch, a block of them is as long as there is room.
Segment PhaseSchedule::fitted(Segment segment, const View& view) const {
  constexpr std::uint64_t k_enough = 24;
  const bool is_replayed = segment.phase == static_cast<std::uint32_t>(Phase::synthetic);
  if (!is_replayed || view.replay_only || view.pass_end == UINT64_MAX) return segment;
  const std::uint64_t first = std::max(next_turn_, earliest_turn(view));
  const std::uint64_t end = epoch_end(first, view);
  const std::uint64_t room = end > first + 1 ? end - first - 1 : 0;
  if (room >= k_enough) segment.batches = static_cast<std::uint32_t>(std::min<std::uint64_t>(segment.batches, room));
  return segment;
}

/// A cold block of another round has its own files.
void PhaseSchedule::note_staged(const Segment& segment) {
  if (segment.phase == static_cast<std::uint32_t>(Phase::cold) && segment.workers == 0) staged_.reset();
  if (segment.phase == static_cast<std::uint32_t>(Phase::cached) && segment.workers == 0) staged_ = segment;
}

/// Replayed batches for what is left of the first epoch, where the job waits for most of it: after some seconds as
/// found.
///
/// Worked example. 6 batches/s as found, 25/s if nothing were waited for, epochs of 100: the first round, which is to
/// lie in one epoch, begins at turn 100. Turns up to 72 are as found (12 s), those up to 99 replayed: 1 s in place
/// of 4. Half of that as found would give the rounds 6 s more, and the rate as found an interval of 20 to 40 %.
std::optional<Segment> PhaseSchedule::replayed_before(std::uint64_t first, const View& view) const {
  constexpr double k_sooner = 2.0;
  constexpr double k_found_s = 12.0;
  constexpr std::uint64_t k_enough = 24;
  const bool wanted = std::find(wants_.phases.begin(), wants_.phases.end(), Phase::synthetic) != wants_.phases.end();
  const bool is_first = control_.segment_count.load(std::memory_order_relaxed) == 0 && next_round_ == 1;
  if (!wanted || !is_first || rate_without_loader() < k_sooner * rate_as_found_) return std::nullopt;
  Segment filler = segment_of(Phase::synthetic, 0, 0);
  const auto found = static_cast<std::uint64_t>(std::ceil(rate_as_found_ * k_found_s));
  filler.first = std::max({next_turn_, earliest_turn(view), found});
  const std::uint64_t end = std::min(first, epoch_end(filler.first, view) - 1);
  if (end < filler.first + k_enough) return std::nullopt;
  filler.batches = static_cast<std::uint32_t>(std::min(end - filler.first, k_most_batches));
  return filler;
}

/// Batches from memory for the turns before `first` that would be as found, where a block has room there and they come
/// sooner than those do.
///
/// Worked example. Epochs of 100 turns; cold and cached blocks end at turn 60, and the next cold block, which is to lie
/// in one epoch with its cached one, begins at 100. Blocks need 10 + 12 turns: 39 of the 40 are filled.
std::optional<Segment> PhaseSchedule::filler_before(std::uint64_t first, const View& view) const {
  constexpr double k_sooner = 1.1;
  if (reads_maps() || view.replay_only || view.pass_end == UINT64_MAX) return std::nullopt;
  if (!staged_) return replayed_before(first, view);
  if (costs_.batches_per_s(Phase::cached) < k_sooner * rate_as_found_) return std::nullopt;
  Segment filler = *staged_;
  filler.first = std::max(next_turn_, earliest_turn(view));
  const std::uint64_t end = std::min(first, epoch_end(filler.first, view) - 1);
  if (end < filler.first + fewest_batches_) return std::nullopt;
  filler.batches = static_cast<std::uint32_t>(std::min(end - filler.first, k_most_batches));
  filler.lists = 0;
  return repeating(filler);
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
  begun_ = round_;
  together_ = k_slack_turns;
  for (const Segment& segment : round_) {
    if (segment.phase == static_cast<std::uint32_t>(Phase::synthetic)) break;
    together_ += is_supply(segment) ? 0 : segment.batches;
  }
  ++next_round_;
}

}  // namespace stallcast::collect
