/// Which phase when: publishes segments to the job's ranks, a little ahead of where they are.
///
///   armed -> some seconds as found -> round 0: cold, cached, extra, synthetic, supply -> round 1: ... -> end
///
/// All segments of a round use the same index lists. The ranks switch at the same turn (batch number) without talking,
/// so a segment must be published before any rank's loader asks for its first index list: 2 W k turns ahead and what
/// the fastest rank may take until we look again.
///
/// Blocks lie within an epoch. Where one is too short for a cold and a cached block, the ranks are asked to join theirs
/// (ControlBlock::joins_passes): one iterator then serves several, and blocks go on over their ends. Where the next
/// block does not fit into what is left of an epoch, that is filled with batches from memory, which are sooner gone
/// than those as found and tell something: rates that the processor limits need the most time.
///
/// Worked example. W = 2, k = 2, 8 batches/s as found. A block must outlast its transients, W k at its start (made
/// before it), W for the bunching of arrivals and W k at its end, and then measure 3 s: 4 + 2 + 4 + 24 = 34 batches.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/quantity.hpp"
#include "probes/collect/phase_costs.hpp"
#include "probes/record/control.hpp"

namespace stallcast::collect {

struct PhaseWants {
  std::vector<record::Phase> phases{};  ///< of each round, in this order
  bool extras = true;                   ///< half-cached, perturbed and fewer-worker blocks, one a round
  Seconds budget = Seconds(60.0);       ///< from the moment when the job is armed
  int fewest_rounds = 3;                ///< before the estimates may end the run
};

/// What the user may be shown while it goes on.
struct PhaseProgress {
  bool armed = false;
  bool refused = false;    ///< not armed: a loader was found that phases cannot be run on
  bool ended = false;      ///< the end was published
  int rounds = 0;          ///< complete
  std::string phase{};     ///< that the script is in
  double elapsed_s = 0.0;  ///< since arming
  double left_s = 0.0;     ///< of the budget
  double batches_per_s = 0.0;
};

class PhaseSchedule {
 public:
  PhaseSchedule(record::ControlBlock& control, PhaseWants wants);

  /// Looks at the ranks and publishes what is due. Called about 20 times a second.
  void step(std::uint64_t now_ns);

  /// The estimates are as tight as wanted: publishes the end as soon as the fewest rounds are complete. The further
  /// block of the last one is then left out, or cut short.
  void finish() { enough_ = true; }

  [[nodiscard]] PhaseProgress progress(std::uint64_t now_ns) const;

  /// Once the budget has been over for 30 s and a rank that lives still has not come to the end of the run: what it did
  /// last, in words. It hangs, or its steps take longer than all that.
  [[nodiscard]] std::optional<std::string> overdue(std::uint64_t now_ns) const;

  /// True once every rank has come to the end of the run.
  [[nodiscard]] bool ranks_have_left() const { return left_ns_ != 0; }

  /// True once a launcher has had some seconds more to end by itself: one that waits for an answer of its ranks never
  /// does.
  [[nodiscard]] bool is_over(std::uint64_t now_ns) const;

  /// Rounds whose blocks of the wanted phases have all been passed by every rank.
  [[nodiscard]] int complete_rounds() const { return complete_rounds_; }

  /// Segments that ranks could not run, because they read of them too late.
  [[nodiscard]] std::uint64_t missed() const;

  /// Why no blocks can be run, once the epochs turned out too short; empty otherwise. The run then ends with its
  /// budget.
  [[nodiscard]] const std::string& obstacle() const { return obstacle_; }

  /// The budget that the fewest rounds would have needed, where they did not fit into the one there was: by what
  /// batches have cost so far. Absent where they did, or where no round was begun.
  [[nodiscard]] std::optional<Seconds> budget_needed() const;

  /// Batches of the epochs that were joined; 0: none were.
  [[nodiscard]] std::uint64_t joined_epochs() const { return pass_end_ == UINT64_MAX ? joined_length_ : 0; }

 private:
  /// The ranks taken together.
  struct View {
    bool armed = false;
    bool refused = false;      ///< by a rank
    bool replay_only = false;  ///< a rank's loader is a stream
    std::uint64_t slowest_turn = 0;
    std::uint32_t slowest_segment = 0;  ///< PhaseSlot::segment of the slowest rank
    std::uint64_t fastest_turn = 0;
    std::uint64_t pass_first = 0;
    std::uint64_t pass_end = UINT64_MAX;
    std::uint64_t missed = 0;
    std::uint64_t waited_ns = 0;  ///< by all of them since they began
    std::uint32_t ranks = 0;      ///< that are armed
    std::uint32_t workers = 0;
    std::uint32_t in_flight = 0;  ///< W k
  };

  [[nodiscard]] View view() const;
  void follow_passes(const View& view);
  void follow(const View& view, std::uint64_t now_ns);
  bool awaits_joining(const View& view, std::uint64_t length);
  std::uint64_t within_epoch(const View& view, std::uint64_t wanted, std::uint64_t transients);
  [[nodiscard]] std::uint64_t over_epochs(const View& view, std::uint64_t measured, std::uint64_t transients) const;
  void plan_blocks(const View& view);
  [[nodiscard]] bool tells_nothing(const record::Segment& segment, const View& view) const;
  [[nodiscard]] bool leaves_time(const record::Segment& supply, const View& view) const;
  [[nodiscard]] const record::Segment* next_of_rounds(const View& view);
  void begin_round(const View& view);
  bool publish_next(const View& view);
  void publish(record::Segment segment);
  void publish_end();
  void end_behind_all();
  [[nodiscard]] bool all_have_left() const;
  void end_in_time(const View& view, std::uint64_t now_ns);
  void end_at_once(const View& view);
  void cut_if_late(const View& view, std::uint64_t now_ns);
  [[nodiscard]] std::uint64_t earliest_turn(const View& view) const;
  [[nodiscard]] std::optional<std::uint64_t> first_turn(const record::Segment& segment, const View& view) const;
  [[nodiscard]] double spent_until(std::uint64_t begin, const View& view) const;
  [[nodiscard]] bool out_of_time(const View& view);
  [[nodiscard]] const record::Segment* current(const View& view) const;
  [[nodiscard]] bool reads_maps() const;
  [[nodiscard]] std::uint64_t cold_batches() const;
  [[nodiscard]] std::uint64_t synthetic_batches() const;
  [[nodiscard]] std::uint64_t epoch_end(std::uint64_t turn, const View& view) const;
  [[nodiscard]] record::Segment fitted(record::Segment segment, const View& view) const;
  [[nodiscard]] double rate_without_loader() const;
  [[nodiscard]] std::optional<record::Segment> replayed_before(std::uint64_t first, const View& view) const;
  [[nodiscard]] std::optional<record::Segment> filler_before(std::uint64_t first, const View& view) const;
  void note_staged(const record::Segment& segment);
  [[nodiscard]] record::Segment block(record::Phase phase) const;
  [[nodiscard]] record::Segment repeating(record::Segment segment) const;
  [[nodiscard]] std::optional<record::Segment> extra(const View& view) const;

  record::ControlBlock& control_;
  PhaseWants wants_;
  std::vector<record::Segment> round_{};     ///< still to be published of the current round; `first` not set yet
  std::vector<record::Segment> begun_{};     ///< all of the round begun last
  std::optional<record::Segment> staged_{};  ///< the cached block of the round whose files are in memory
  double begun_s_ = 0.0;                     ///< from arming until the first round was begun
  std::size_t extras_ = 0;                   ///< at the end of `round_`, for the model only
  std::uint64_t together_ = 0;               ///< turns of the current round that should lie within one epoch
  std::uint32_t next_round_ = 0;
  std::uint64_t next_turn_ = 0;       ///< after everything published
  std::uint64_t block_batches_ = 0;   ///< 0: not decided yet
  std::uint64_t transients_ = 0;      ///< of these, at both ends of a block
  std::uint64_t fewest_batches_ = 0;  ///< that a block needs to tell anything
  std::uint64_t most_synthetic_ = 400;
  PhaseCosts costs_{};
  std::uint64_t pass_first_ = 0;     ///< of the pass seen last
  std::uint64_t pass_end_ = 0;       ///< as its loader's length has it
  std::uint64_t taken_ = 0;          ///< batches after which the script left a pass; 0: it does not
  std::uint64_t joined_length_ = 0;  ///< of the passes that the ranks were asked to join; 0: they were not
  int joins_left_ = 0;               ///< passes until they are taken not to
  std::uint64_t armed_ns_ = 0;
  double elapsed_s_ = 0.0;           ///< since then
  std::uint64_t waited_before_ = 0;  ///< nanoseconds that ranks had waited until then
  std::uint64_t last_look_ns_ = 0;
  std::uint64_t last_turn_ = 0;
  double fastest_rate_ = 0.0;   ///< turns per second seen over 0.2 s or more
  double rate_as_found_ = 0.0;  ///< turns per second
  double waited_share_ = 0.0;   ///< of the time as found
  std::vector<std::uint64_t> round_ends_{};
  int complete_rounds_ = 0;
  bool enough_ = false;
  bool ended_ = false;
  bool cut_ = false;  ///< the end was published again, for the next turn
  std::uint64_t moved_turn_ = 0;
  std::uint64_t left_ns_ = 0;   ///< when all ranks were first seen to have left; 0: not yet
  std::uint64_t moved_ns_ = 0;  ///< when the slowest rank was last seen to take a turn
  std::string obstacle_{};
};

}  // namespace stallcast::collect
