/// Which state when: publishes segments to the job's ranks, a little ahead of where they are, and the end of measuring.
///
///   armed -> some seconds as found -> round 0: cold, bursts | cached, bursts, extra -> round 1: ... -> end
///
/// A round has two groups, each published as a whole. The ranks switch at the same turn (batch number) without talking,
/// so a group is published before any rank's loader puts its first index list: W k turns ahead, and what the fastest
/// rank may take until we look again. The group from memory begins once the files of its turns are held there
/// (FilesAhead); meanwhile the job goes on as found. In the first pass over the data nobody has seen which files a
/// sample needs: where it cannot be told from how they are called either, rounds have the cold group alone.
///
/// Groups lie within a pass where they fit. Where passes are too short for that, blocks go on over their ends, and
/// count without the beginning and the end of each.
///
/// Worked example. W = 2, k = 2, 8 batches/s as found. A block follows an empty queue, which fills with W k batches,
/// and ends with a hold, up to which it counts; arrivals come in bunches of W. For 3 s it takes 4 + 2 + 24 = 30
/// batches; a burst takes 4.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/quantity.hpp"
#include "probes/collect/schedule/files_ahead.hpp"
#include "probes/collect/schedule/phase_costs.hpp"
#include "probes/record/control.hpp"

namespace stallcast::collect {

struct PhaseWants {
  std::vector<record::Phase> phases{};  ///< of each round
  bool extras = true;                   ///< half-cached, perturbed and fewer-at-a-time blocks, one a round
  Seconds budget = Seconds(300.0);      ///< from the moment when the job is armed
  int fewest_rounds = 3;                ///< before the estimates may end the measuring
  std::size_t cores = 1;                ///< that the job may use
  bool stop = false;                    ///< ranks wait at the end to be ended
};

/// What the user may be shown while it goes on.
struct PhaseProgress {
  bool armed = false;
  bool refused = false;    ///< not armed: a loader was found that no states can be made of
  bool ended = false;      ///< the end was published
  int rounds = 0;          ///< complete
  std::string phase{};     ///< that the script is in
  double elapsed_s = 0.0;  ///< since arming
  double left_s = 0.0;     ///< of the budget
  double batches_per_s = 0.0;
};

class PhaseSchedule {
 public:
  /// `files`: nullptr where none can be held: no blocks from memory are then run.
  PhaseSchedule(record::ControlBlock& control, PhaseWants wants, FilesAhead* files);

  /// Looks at the ranks and publishes what is due. Called about ten times a second.
  void step(std::uint64_t now_ns);

  /// Whether the estimates are as tight as wanted, by the last look: measuring ends as soon as that holds and each
  /// wanted state had its fewest rounds.
  void set_enough(bool enough) { enough_ = enough; }

  /// No further cold groups: the other states get their time.
  void give_up_cold(std::string why);

  [[nodiscard]] PhaseProgress progress(std::uint64_t now_ns) const;

  /// Rounds all blocks of which have been passed by every rank.
  [[nodiscard]] int complete_rounds() const { return complete_rounds_; }

  /// Whether every rank has come to the end of measuring, or had 30 s to do so: it may be busy with something else, or
  /// hang. The ranks that come later let go then.
  [[nodiscard]] bool is_over(std::uint64_t now_ns) const;

  /// Segments that ranks could not run, because they read of them too late.
  [[nodiscard]] std::uint64_t missed() const { return view().missed; }

  /// Why there are no blocks from memory, or fewer than were wanted; empty where there are.
  [[nodiscard]] const std::string& why_not_cached() const { return why_not_cached_; }

  /// Why there are no further blocks from storage; empty where there are.
  [[nodiscard]] const std::string& why_not_cold() const { return why_not_cold_; }

  /// Where the budget ended it before there were the fewest rounds from memory: how many there are, and the budget that
  /// would hold all of them at the pace so far.
  struct Short {
    int rounds = 0;
    int of = 0;
    Seconds budget{};
  };
  [[nodiscard]] std::optional<Short> fell_short() const;

  /// Why no blocks can be run at all; empty otherwise.
  [[nodiscard]] const std::string& obstacle() const { return obstacle_; }

 private:
  /// The ranks taken together.
  struct View {
    bool armed = false;
    bool refused = false;    ///< by a rank
    bool hold_only = false;  ///< a rank's files cannot be chosen
    bool not_ahead = false;  ///< nobody knows what comes next in a rank
    bool all_at_end = true;
    std::uint64_t slowest_turn = 0;  ///< of a rank that is not at its end: one that is takes no further turn
    std::uint64_t fastest_turn = 0;
    std::uint64_t pass_first = 0;
    std::uint64_t pass_end = UINT64_MAX;
    std::uint64_t missed = 0;
    std::uint64_t waited_ns = 0;  ///< by all of them since they began
    std::uint64_t held_ns = 0;    ///< of the rank that was held longest
    std::uint32_t ranks = 0;      ///< that are armed
    std::uint32_t passes = 0;     ///< of the rank that began the fewest
    std::uint32_t ready = UINT32_MAX;
    std::uint32_t workers = 0;
    std::uint32_t in_flight = 0;  ///< W k
    double batches_a_step = 1.0;  ///< gradient accumulation

    [[nodiscard]] std::uint64_t pass_length() const { return pass_end == UINT64_MAX ? 0 : pass_end - pass_first; }
  };

  /// How far the job got while files were read beside it.
  struct Lead {
    std::uint64_t got_turns = 0;    ///< by the fastest rank, the last time
    std::uint64_t of_turns = 0;     ///< for which files were read then; 0: none were, or all files
    std::uint64_t asked_turns = 0;  ///< for which they are being read
    std::uint64_t from_turn = 0;    ///< the fastest rank's, when they were asked for
    double from_s = 0.0;            ///< when that was, since arming
    double took_s = 0.0;            ///< until they were held, the last time
    bool in_burst = false;          ///< it began in one the last time, whose turns count
    bool asked_in_burst = false;    ///< this time
    bool under_way = false;
  };

  /// Where a cold group lies.
  struct ColdTurns {
    std::uint64_t first = 0;
    std::uint64_t end = 0;
    std::uint32_t burst = 0;  ///< 1 + the burst that ends it; 0: none does
  };

  /// Files of the next round beside those in use.
  enum class Next { none, wanted, asked };

  /// Segments that follow each other, `first` of each still to be set.
  using Group = std::vector<record::Segment>;

  [[nodiscard]] View view() const;
  void forget_the_dead();
  void follow(const View& view, std::uint64_t now_ns);
  [[nodiscard]] const record::Segment* current(const View& view) const;
  [[nodiscard]] bool wants(record::Phase phase) const;
  [[nodiscard]] bool wants_supply(record::Phase made_as) const;
  [[nodiscard]] bool wants_bursts_without_cold() const;
  void plan_blocks(const View& view);
  void judge_maps(const View& view);
  void advance(const View& view);
  void advance_cached(const View& view);
  /// The files of a group of so many turns that may begin at `from`; not yet, while cold batches are made.
  void ask_for_files(std::uint64_t turns, std::uint64_t from, const View& view);
  /// Likewise, of a stream: from where its readers are.
  void ask_from_here(std::uint64_t turns, std::uint64_t from, const View& view);
  [[nodiscard]] bool goes_by_position(const View& view) const;
  void positions_failed(const std::string& why, const View& view);
  void files_failed(const View& view);
  /// In the first pass it was tried to tell what comes next, and cannot be: files are held from the second pass on.
  void wait_for_second_pass(std::string why);
  void lost_sight(const View& view);
  [[nodiscard]] bool may_ask(const View& view) const;
  /// Turns that the job is taken to get on by while the files of so many are read beside it.
  [[nodiscard]] std::uint64_t lead_for(std::uint64_t turns, const View& view) const;
  [[nodiscard]] std::uint64_t lead_after_burst(std::uint64_t turns, const View& view) const;
  void begin_reading(std::uint64_t turns, const View& view);
  void note_reading(const View& view);
  void publish_cached(Group group, std::uint64_t from, const View& view);
  void publish_next_cached(Group group, const View& view);
  // The next round while this one goes on (schedule/phase_ahead.cpp)
  /// Its cold group, right behind the group from memory that was just published.
  void publish_next_cold(const View& view);
  [[nodiscard]] std::uint64_t gap_for(std::uint64_t asked, const View& view) const;
  void follow_next(const View& view);
  [[nodiscard]] bool leaves_storage(const View& view) const;
  /// Whether no batch of the cold group is made any more.
  [[nodiscard]] static bool rests(const ColdTurns& cold, const View& view);
  void release_when_passed(const View& view);
  [[nodiscard]] bool reads_maps() const { return files_ != nullptr && files_->only_maps(); }
  [[nodiscard]] bool holds_for_too_long() const;

  // What groups consist of (schedule/phase_groups.cpp)
  [[nodiscard]] record::Segment block(record::Phase phase, const View& view) const;
  /// Seconds of a cold block that are measured, at the rate that its batches come at.
  [[nodiscard]] double cold_block_s() const;
  [[nodiscard]] std::uint64_t turns_of_shards(const View& view) const;
  [[nodiscard]] record::Segment cached_block(const View& view, bool behind_burst) const;
  [[nodiscard]] record::Segment segment_of(record::Phase phase, std::uint64_t batches, const View& view) const;
  [[nodiscard]] std::uint32_t burst_batches(record::Phase made_as, const View& view) const;
  [[nodiscard]] record::Segment burst(record::Phase made_as, const View& view) const;
  [[nodiscard]] std::optional<record::Segment> extra(const View& view) const;
  [[nodiscard]] int bursts(record::Phase made_as, const View& view) const;
  [[nodiscard]] bool reads_in_gaps(const View& view) const;
  /// Whether workers have waited, and not for a core, for most of the time in which they made batches.
  [[nodiscard]] bool makers_mostly_wait() const;
  [[nodiscard]] bool was_found_cold() const;
  /// Turns until all that is under way lies ready, where files are in memory and nothing was ready before; 0: not
  /// known, or a job that need not be measured so shortly.
  [[nodiscard]] std::uint64_t turns_to_fill(const View& view) const;
  /// Whether its batches are so long that what a round holds must be counted.
  [[nodiscard]] bool is_slow(const View& view) const;
  /// Whether the fewest rounds, and one for what goes wrong, would take longer than the budget at the pace so far. What
  /// only predictions need is left out then.
  [[nodiscard]] bool is_behind() const;
  /// Whether no more than some rounds are left. A long one that does not fit any more would leave the rest unused.
  [[nodiscard]] bool ends_soon() const;
  [[nodiscard]] Group cold_group(const View& view) const;
  /// `behind_burst`: begun with nothing under way.
  [[nodiscard]] Group cached_group(const View& view, bool behind_burst = false) const;
  [[nodiscard]] Group found_group(bool bursts_alone, const View& view) const;
  [[nodiscard]] static std::uint64_t turns_of(const Group& group);
  [[nodiscard]] std::uint64_t over_passes(std::uint64_t batches, const View& view) const;

  // Where they go
  [[nodiscard]] std::uint64_t earliest_turn(const View& view) const;
  [[nodiscard]] std::optional<std::uint64_t> place(Group& group, std::uint64_t from, const View& view) const;
  void publish(const Group& group);
  void publish_cold(const Group& group);
  void publish(const record::Segment& segment);
  void end_round();

  // When it ends (schedule/phase_end.cpp)
  [[nodiscard]] bool has_enough() const;
  [[nodiscard]] bool has_time_for(const Group& group, const View& view) const;
  [[nodiscard]] bool memory_may_come(const View& view) const;
  [[nodiscard]] std::uint64_t turns_until_look(const View& view) const;
  void publish_end(const View& view);
  void end_behind_last(const View& view);

  record::ControlBlock& control_;
  PhaseWants wants_;
  FilesAhead* files_;
  bool cached_next_ = false;         ///< the group from memory comes next
  bool cached_before_cold_ = false;  ///< the round's group from memory is published already
  bool asked_ = false;               ///< files are asked for, or held
  bool as_next_ = false;             ///< these are of a group right behind the last cold one
  Next next_ = Next::none;
  Group next_group_{};            ///< as it was planned; it stays this one when its files have become those in use
  std::uint64_t next_first_ = 0;  ///< its turns
  std::uint64_t next_end_ = 0;
  bool asked_all_ = false;        ///< of the whole data set
  bool asked_from_here_ = false;  ///< of a stream, what its readers have before them
  bool no_positions_ = false;     ///< that cannot be told
  bool not_all_ = false;          ///< all files of the stream cannot be held
  int not_yet_ = 0;               ///< times in a row that a reader was near the end of its file
  Lead lead_{};
  std::string not_in_first_pass_{};  ///< why files cannot be told in the first pass; empty: not tried, or they can
  std::uint64_t asked_first_ = 0;    ///< turns whose files are asked for
  std::uint64_t asked_end_ = 0;
  std::uint64_t held_until_turn_ = 0;  ///< they are needed until this turn is taken; 0: no block of them is published
  std::uint32_t last_burst_ = 0;       ///< 1 + the segment after whose hold they are needed no more; 0: none
  std::uint64_t held_first_ = 0;       ///< the first of these turns
  std::uint64_t held_end_ = 0;         ///< behind the last turn whose files are held; 0: all, or hardly more
  ColdTurns cold_{};                   ///< of the last cold group that is published
  ColdTurns cold_before_{};            ///< of the one before it
  int late_ = 0;                       ///< times that reading took longer than was foreseen
  std::uint32_t round_ = 0;
  std::uint32_t published_before_ = 0;  ///< segments, when the last round ended
  std::uint64_t next_turn_ = 0;         ///< after everything published
  std::uint64_t block_batches_ = 0;     ///< 0: not decided yet
  std::uint64_t transients_ = 0;        ///< of these
  bool spans_ = false;                  ///< passes are too short for blocks
  PhaseCosts costs_{};
  std::uint64_t armed_ns_ = 0;
  std::uint64_t first_turn_ = 0;     ///< when it was armed
  double elapsed_s_ = 0.0;           ///< since then
  double memory_from_s_ = -1.0;      ///< when files could first be asked for; negative: not yet
  std::uint64_t waited_before_ = 0;  ///< nanoseconds that ranks had waited until then
  std::uint64_t last_look_ns_ = 0;
  std::uint64_t last_turn_ = 0;
  double fastest_rate_ = 0.0;   ///< turns per second seen over 0.2 s or more
  double rate_as_found_ = 0.0;  ///< turns per second
  double waited_share_ = 0.0;   ///< of the time as found
  std::vector<std::uint64_t> round_ends_{};
  int complete_rounds_ = 0;
  int cached_rounds_ = 0;  ///< published
  int extras_ = 0;         ///< further blocks published
  bool enough_ = false;
  bool is_full_ = false;  ///< nothing more fits into the budget
  bool ended_ = false;
  double ended_s_ = 0.0;
  std::string why_not_cached_{};
  std::string why_not_cold_{};
  std::string obstacle_{};
};

}  // namespace stallcast::collect
