/// A made-up job for the tests of the schedule.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "probes/collect/schedule/phase_schedule.hpp"

namespace stallcast::collect {

inline constexpr std::uint64_t k_beat_ns = 100'000'000;

inline bool is(const record::Segment& segment, record::Phase phase) {
  return segment.phase == static_cast<std::uint32_t>(phase);
}

/// Files that are in memory `takes_s` after they were asked for.
class ScriptedFiles : public FilesAhead {
 public:
  double takes_s = 1.0;
  std::string refuses_ahead{};  ///< why what comes next cannot be told
  std::string refuses_all{};
  std::uint64_t untold_before = 0;  ///< turn before which nobody knows which files come next
  int asked = 0;
  std::string refuses_from_here{};
  std::uint64_t near_end_until_ns = 0;  ///< until then one of the readers has too little before it
  int asked_all = 0;
  int asked_from_here = 0;
  std::uint64_t read_ahead = 0;  ///< turns
  std::uint64_t between_reads = 1;
  std::uint64_t between_opens = 1;
  int released = 0;
  int asked_next = 0;
  std::uint64_t next_first = 0;
  std::uint64_t next_end = 0;  ///< 0: nothing is asked for beside what is held
  bool maps = false;
  bool shared = false;
  std::uint64_t first = 0;
  std::uint64_t end = 0;
  const std::uint64_t* now_ns = nullptr;

  void ask_next(std::uint64_t turn, std::uint32_t batches) override {
    ++asked_next;
    next_first = turn;
    next_end = turn + batches;
    next_asked_ns_ = *now_ns;
  }
  [[nodiscard]] bool is_next_held() const override {
    return next_end > 0 && static_cast<double>(*now_ns - next_asked_ns_) * 1e-9 >= takes_s;
  }
  /// Whether anything is being read.
  [[nodiscard]] bool is_reading() const { return state() == State::reading || (next_end > 0 && !is_next_held()); }
  void ask(std::uint64_t turn, std::uint32_t batches) override {
    ++asked;
    first = turn;
    end = turn + batches;
    begin(turn < untold_before ? "not known yet" : refuses_ahead);
  }
  void ask_all() override {
    ++asked_all;
    first = 0;
    end = UINT64_MAX;
    begin(refuses_all);
  }
  bool ask_from_here(std::uint64_t skipped, std::uint64_t turns) override {
    if (*now_ns < near_end_until_ns) return false;
    ++asked_from_here;
    first = skipped;
    end = turns;
    begin(refuses_from_here);
    return true;
  }
  [[nodiscard]] std::uint64_t turns_read_ahead() const override { return read_ahead; }
  [[nodiscard]] std::uint64_t batches_between_reads() const override { return between_reads; }
  [[nodiscard]] std::uint64_t batches_between_opens() const override { return between_opens; }
  [[nodiscard]] bool only_maps() const override { return maps; }
  [[nodiscard]] bool are_shared() const override { return shared; }
  [[nodiscard]] State state() const override {
    if (!busy_) return State::idle;
    if (!why_.empty()) return State::failed;
    return static_cast<double>(*now_ns - asked_ns_) * 1e-9 >= takes_s ? State::held : State::reading;
  }
  [[nodiscard]] std::string why_not() const override { return why_; }
  void release() override {
    released += busy_ ? 1 : 0;
    busy_ = next_end > 0;
    why_.clear();
    if (!busy_) return;
    first = next_first;
    end = next_end;
    asked_ns_ = next_asked_ns_;
    next_first = next_end = 0;
  }
  void release_next() override { next_first = next_end = 0; }
  void release_all() override {
    next_first = next_end = 0;
    release();
  }

 private:
  void begin(const std::string& why) {
    busy_ = true;
    why_ = why;
    asked_ns_ = *now_ns;
  }

  bool busy_ = false;
  std::string why_{};
  std::uint64_t asked_ns_ = 0;
  std::uint64_t next_asked_ns_ = 0;
};

/// A job of `ranks` that takes `rate` batches a second; passes of `pass` batches (0: not known).
struct Job {
  std::unique_ptr<record::ControlBlock> control = std::make_unique<record::ControlBlock>();
  ScriptedFiles files{};
  std::uint64_t now_ns = 1'000'000'000;
  double rate = 10.0;
  std::uint64_t pass = 100;
  std::uint32_t workers = 2;
  int ranks = 1;
  double cold_rate = 0.0;      ///< in cold blocks; 0: as otherwise
  double cached_rate = 0.0;    ///< in blocks from memory; 0: as otherwise
  double waited = 0.0;         ///< share of its time that it waits for batches
  double hold_s = 0.0;         ///< that it is held at the beginning of each burst
  bool found_cold = false;     ///< its workers waited for storage as found
  bool sight_is_lost = false;  ///< what the pass will draw was known, and is no longer
  record::PhaseSupport support = record::PhaseSupport::all;

  Job() { files.now_ns = &now_ns; }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  void arm() { put(0.0); }

  /// It was armed when it had so many batches.
  void begin_at(double turn) {
    turn_ = turn;
    put(turn);
  }

  void put(double turn) {
    const auto turns = static_cast<std::uint64_t>(turn);
    if (found_cold) {
      control->made_batches.store(100);
      control->made_wall_ns.store(1000);
      control->made_blocked_ns.store(900);
    }
    for (int rank = 0; rank < ranks; ++rank) {
      record::PhaseSlot& slot = control->phases[rank];
      slot.turns.store(turns);
      slot.pass_first.store(pass == 0 ? 0 : turns / pass * pass);
      slot.pass_end.store(pass == 0 || sight_is_lost ? UINT64_MAX : (turns / pass + 1) * pass);
      slot.passes.store(pass == 0 ? 1 : static_cast<std::uint32_t>(turns / pass + 1));
      slot.workers.store(workers);
      slot.prefetch.store(2);
      slot.support.store(static_cast<std::uint32_t>(support));
      slot.armed.store(1);
    }
  }

  /// Lets the schedule watch for `seconds`; the job takes its turns meanwhile.
  void run(PhaseSchedule& schedule, double seconds) {
    const auto beats = static_cast<int>(seconds * 10.0);
    for (int beat = 0; beat < beats; ++beat) {
      now_ns += k_beat_ns;
      take_turns();
      for (int rank = 0; rank < ranks; ++rank) {
        control->ranks[rank].waited_ns += static_cast<std::uint64_t>(waited * static_cast<double>(k_beat_ns));
      }
      schedule.step(now_ns);
    }
  }

  [[nodiscard]] std::vector<record::Segment> published() const {
    return {control->segments, control->segments + control->segment_count.load()};
  }

  [[nodiscard]] std::vector<record::Segment> published(record::Phase phase) const {
    std::vector<record::Segment> found;
    for (const record::Segment& segment : published()) {
      if (segment.phase == static_cast<std::uint32_t>(phase)) found.push_back(segment);
    }
    return found;
  }

 private:
  void take_turns() {
    const record::Segment* here = nullptr;
    const std::uint32_t count = control->segment_count.load();
    const auto turn = static_cast<std::uint64_t>(turn_);
    for (std::uint32_t i = 0; i < count; ++i) {
      const record::Segment& segment = control->segments[i];
      if (segment.first <= turn && turn < segment.first + segment.batches) here = &segment;
    }
    const bool is_burst = here != nullptr && here->phase == static_cast<std::uint32_t>(record::Phase::synthetic);
    if (is_burst && held_at_ != here->first) {
      held_at_ = here->first;
      held_left_ = hold_s;
    }
    if (held_left_ > 0.0) {
      held_left_ -= 0.1;
      for (int rank = 0; rank < ranks; ++rank) control->phases[rank].held_ns += k_beat_ns;
      if (held_left_ > 0.0) return;
      for (int rank = 0; rank < ranks; ++rank) {
        control->phases[rank].ready.store(1 + static_cast<std::uint32_t>(here - control->segments));
      }
      return;
    }
    const bool is_cold = here != nullptr && here->phase == static_cast<std::uint32_t>(record::Phase::cold);
    const bool is_cached = here != nullptr && here->phase == static_cast<std::uint32_t>(record::Phase::cached);
    const double special = is_cold ? cold_rate : is_cached ? cached_rate : 0.0;
    turn_ += (special > 0.0 ? special : rate) / 10.0;
    put(turn_);
  }

  double turn_ = 0.0;
  std::uint64_t held_at_ = UINT64_MAX;
  double held_left_ = 0.0;
};

inline PhaseWants usual_wants() {
  PhaseWants wants;
  wants.phases = {record::Phase::cold, record::Phase::cached, record::Phase::synthetic, record::Phase::supply_cached};
  wants.extras = false;
  wants.budget = Seconds(120.0);
  return wants;
}

/// Of the blocks from memory that were published since: their files are held.
inline void check_held(const Job& job, std::size_t& seen) {
  const auto cached = job.published(record::Phase::cached);
  for (; seen < cached.size(); ++seen) {
    CHECK(job.files.state() == FilesAhead::State::held);
    CHECK(cached[seen].first >= job.files.first);
    CHECK(cached[seen].first + cached[seen].batches <= job.files.end);
  }
}

}  // namespace stallcast::collect
