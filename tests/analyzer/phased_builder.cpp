#include "tests/analyzer/phased_builder.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "analyzer/phase_blocks.hpp"
#include "tests/analyzer/job_draws.hpp"
#include "tests/analyzer/job_simulation.hpp"

namespace stallcast::synthetic {
namespace {

using record::Phase;
using record::ProcessRecording;
using record::TextKind;

constexpr std::uint32_t k_no_segment = UINT32_MAX;
constexpr double k_replay_s = 2e-6;
constexpr std::uint32_t k_opens = 8;  ///< of a batch

bool reads(Phase phase) {
  return phase == Phase::cold || phase == Phase::as_is;
}

/// One batch that is made and handed over, in order.
struct Item {
  std::uint64_t number = 0;
  Phase phase = Phase::as_is;
  std::uint32_t segment = k_no_segment;
  simulation::BatchWork work{};
  double content = 1.0;  ///< times the mean bytes
  double step_s = 0.0;
  std::vector<double> replayed{};  ///< steps of the synthetic block that follows
  std::uint32_t replay_segment = k_no_segment;
};

struct SegmentText {
  std::uint32_t segment = 0;
  Phase phase = Phase::as_is;
  int round = 0;
  std::uint64_t first = 0;
  int batches = 0;
};

/// The speed at which the machine runs while time goes on.
class Speed {
 public:
  Speed(const Drift& drift, std::uint64_t seed) : drift_(drift), random_(seed) {
    state_ = drift_.sd * normal_(random_);
  }

  /// What times are multiplied with, `elapsed_s` after the last call.
  double after(double elapsed_s) {
    const double kept = std::exp(-elapsed_s / drift_.correlation_s);
    state_ = kept * state_ + drift_.sd * std::sqrt(1.0 - kept * kept) * normal_(random_);
    return std::exp(state_);
  }

 private:
  Drift drift_;
  Random random_;
  std::normal_distribution<double> normal_{};
  double state_ = 0.0;
};

/// How long a batch of this phase takes without noise: what the drift's clock goes on by.
double usual_s(const JobSpec& job, Phase phase) {
  const double making = (reads(phase) ? job.read_s : 0.0) + job.cpu_s;
  const double step = phase == Phase::supply_cached ? 0.0 : job.device_s + job.host_s;
  if (phase == Phase::synthetic) return job.device_s + job.host_s;
  if (job.loader.workers == 0) return making + step;
  return std::max(making / job.loader.workers, step);
}

/// The batches of a rank in order, with what each costs.
class Schedule {
 public:
  Schedule(const PhasedSpec& spec, int rank)
      : spec_(spec),
        rank_(rank),
        random_(spec.job.seed * 1000 + static_cast<std::uint64_t>(rank)),
        speed_(spec.drift, spec.job.seed) {
    block(Phase::as_is, spec.as_is, -1, drawn(spec.as_is));
    for (int round = 0; round < spec.rounds; ++round) add_round(round);
    block(Phase::as_is, spec.tail, -1, drawn(spec.tail));
  }

  std::vector<Item> items{};
  std::vector<SegmentText> segments{};

 private:
  /// What batches cost, and what they hold.
  struct Batches {
    Draws draws{};
    std::vector<double> contents{};
  };

  Batches drawn(int batches) {
    Batches made{draw(spec_.job, batches, random_), {}};
    for (int i = 0; i < batches; ++i) made.contents.push_back(log_normal(1.0, spec_.content_cv, random_));
    return made;
  }

  /// The same samples in each block: what computing them takes is the same, too.
  void add_round(int round) {
    const Batches draws = drawn(spec_.block);
    if (spec_.stream) {
      block(Phase::as_is, spec_.block, round, draws);
      replay(round);
      return;
    }
    const bool lacks = rank_ == spec_.lacking_rank && round + 1 == spec_.rounds;
    block(lacks ? Phase::as_is : Phase::cold, spec_.block, round, draws);
    block(Phase::cached, spec_.block, round, draws);
    replay(round);
    if (spec_.supply) block(Phase::supply_cached, spec_.block, round, draws);
  }

  double factor(Phase phase, int round) {
    return speed_.after(usual_s(spec_.job, phase)) * (round >= 0 && round == spec_.slow_round ? spec_.slow : 1.0);
  }

  void block(Phase phase, int batches, int round, const Batches& held) {
    const Draws& draws = held.draws;
    const bool supply = phase == Phase::supply_cached;
    const std::uint32_t segment = announce(phase, batches, round);
    for (int i = 0; i < batches; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const double speed = factor(phase, round);
      Item item;
      item.phase = phase;
      item.segment = segment;
      item.number =
          supply ? k_supply_numbers + (static_cast<std::uint64_t>(segment) << 16U) + static_cast<std::uint64_t>(i)
                 : position_++;
      const double read = phase == Phase::as_is ? spec_.as_is_reads : reads(phase) ? 1.0 : 0.0;
      item.content = held.contents[at];
      const double times = speed * item.content;
      item.work = {draws.work[at].read_s * read * times, draws.work[at].cpu_s * times, draws.work[at].other_s * speed};
      item.step_s = supply ? 0.0 : (draws.steps[at].device_s + draws.steps[at].cpu_s) * speed;
      items.push_back(std::move(item));
    }
  }

  void replay(int round) {
    items.back().replay_segment = announce(Phase::synthetic, spec_.synthetic, round);
    const Draws draws = draw(spec_.job, spec_.synthetic, random_);
    for (const simulation::StepWork& step : draws.steps) {
      items.back().replayed.push_back((step.device_s + step.cpu_s) * factor(Phase::synthetic, round));
      if (!spec_.stream) ++position_;
    }
  }

  std::uint32_t announce(Phase phase, int batches, int round) {
    if (phase == Phase::as_is && (round < 0 || !spec_.stream)) return k_no_segment;
    const auto segment = static_cast<std::uint32_t>(segments.size());
    segments.push_back({segment, phase, round, position_, batches});
    return segment;
  }

  const PhasedSpec& spec_;
  int rank_;
  Random random_;
  Speed speed_;
  std::uint64_t position_ = 0;
};

PlayedPass play(const PhasedSpec& spec, const std::vector<Item>& items) {
  std::vector<simulation::BatchWork> work;
  std::vector<simulation::StepWork> steps;
  for (const Item& item : items) {
    double step = item.step_s;
    for (const double replayed : item.replayed) step += replayed + k_replay_s;
    work.push_back(item.work);
    steps.push_back({step, 0.0});
  }
  return play_pass(spec.job.loader, spec.job.cores, 0.0, work, steps);
}

/// The same where nothing is made ahead of replayed batches: each stretch between them begins and ends with an empty
/// queue.
PlayedPass play_stretches(const PhasedSpec& spec, const std::vector<Item>& items) {
  PlayedPass all;
  double origin_s = 0.0;
  for (std::size_t first = 0; first < items.size();) {
    std::size_t last = first;
    while (last + 1 < items.size() && items[last].replayed.empty()) ++last;
    const std::vector<Item> stretch(items.begin() + static_cast<std::ptrdiff_t>(first),
                                    items.begin() + static_cast<std::ptrdiff_t>(last) + 1);
    PlayedPass part = play(spec, stretch);
    for (Making& made : part.made) {
      made.begin_s += origin_s;
      made.end_s += origin_s;
      all.made.push_back(made);
    }
    for (Handed& handed : part.handed) {
      handed.asked_s += origin_s;
      handed.delivered_s += origin_s;
      all.handed.push_back(handed);
    }
    origin_s = all.handed.back().delivered_s + items[last].step_s;
    for (const double replayed : items[last].replayed) origin_s += replayed + k_replay_s;
    first = last + 1;
  }
  return all;
}

record::PhaseRecord phase_record(const PhasedSpec& spec, const Item& item) {
  const double bytes = k_bytes_per_sample * spec.job.batch_size * item.content;
  const bool cold = item.phase == Phase::cold || item.phase == Phase::as_is;
  record::PhaseRecord found{};
  found.header.aux = item.segment;
  found.batch = item.number;
  found.phase = static_cast<std::uint32_t>(item.phase);
  found.opens = k_opens;
  found.staged_opens = cold ? 0 : static_cast<std::uint32_t>(std::lround(k_opens * spec.cached_staged_share));
  found.opened_bytes = static_cast<std::uint64_t>(bytes);
  const double resident = cold ? spec.cold_resident_share : spec.cached_staged_share;
  found.resident_bytes = static_cast<std::uint64_t>(bytes * resident);
  const double stored = cold ? spec.cold_storage_share : spec.cached_storage_share;
  found.storage_bytes = spec.storage_known ? static_cast<std::uint64_t>(bytes * stored) : UINT64_MAX;
  return found;
}

/// Writes down what one rank's processes recorded.
class PhasedWriter {
 public:
  PhasedWriter(const PhasedSpec& spec, int rank) : spec_(spec), schedule_(spec, rank) {
    const JobSpec& job = spec.job;
    consumer_ = process(k_first_consumer_pid * (rank + 1), rank);
    consumer_.texts.push_back({TextKind::process, R"({"role":"consumer","framework":"pytorch","torch":"2.1.0"})"});
    consumer_.texts.push_back({TextKind::loader, loader_text(job, 1, "TrainSet", job.loader.workers, true)});
    std::vector<std::int64_t> pids;
    for (int worker = 0; worker < job.loader.workers; ++worker) {
      workers_.push_back(process(consumer_.info.pid + 1 + worker, rank));
      pids.push_back(workers_.back().info.pid);
    }
    consumer_.texts.push_back({TextKind::iterator, iterator_text(0, 1, 0, pids)});
    const PlayedPass played = spec.stream ? play_stretches(spec, schedule_.items) : play(spec, schedule_.items);
    for (std::size_t i = 0; i < schedule_.items.size(); ++i) {
      write_making(schedule_.items[i], played.made[i]);
      write_delivery(schedule_.items[i], played.handed[i]);
    }
    for (const SegmentText& segment : schedule_.segments) write_segment(segment);
  }

  std::vector<ProcessRecording> take() {
    std::vector<ProcessRecording> all{std::move(consumer_)};
    for (auto& worker : workers_) all.push_back(std::move(worker));
    return all;
  }

 private:
  [[nodiscard]] ProcessRecording process(std::int64_t pid, int rank) const {
    ProcessRecording made;
    made.info.run_id = "phased";
    made.info.host = "node0";
    made.info.executable = "/usr/bin/python3";
    made.info.pid = static_cast<std::int32_t>(pid);
    made.info.rank = spec_.job.ranks > 1 ? static_cast<std::uint32_t>(rank) : UINT32_MAX;
    made.info.start_monotonic_ns = k_start_ns;
    made.file_bytes = 100'000;
    return made;
  }

  /// A segment is announced right before the wait for its first batch.
  [[nodiscard]] std::uint64_t announced_ns(const SegmentText& segment) const {
    const bool apart = segment.phase == Phase::supply_cached || (spec_.stream && segment.phase == Phase::synthetic);
    const std::uint64_t number =
        apart ? k_supply_numbers + (static_cast<std::uint64_t>(segment.segment) << 16U) : segment.first;
    const auto wait = std::find_if(consumer_.waits.begin(), consumer_.waits.end(),
                                   [&](const record::WaitRecord& candidate) { return candidate.batch == number; });
    return wait == consumer_.waits.end() ? UINT64_MAX : wait->begin_ns - 1;
  }

  void write_segment(const SegmentText& segment) {
    consumer_.texts.push_back(
        {TextKind::segment,
         fmt::format(R"({{"segment":{},"phase":{},"round":{},"iterator_id":0,"first":{},"batches":{},"workers":{},)"
                     R"("argument":0,"t_ns":{}{}}})",
                     segment.segment, static_cast<int>(segment.phase), segment.round, segment.first, segment.batches,
                     spec_.job.loader.workers, announced_ns(segment),
                     spec_.stream ? R"(,"stream":"it is a stream")" : "")});
  }

  void write_making(const Item& item, const Making& made) {
    const bool own = workers_.empty();
    record::BatchRecord record{};
    record.header.aux = own ? UINT32_MAX : static_cast<std::uint32_t>(made.worker);
    record.batch = item.number;
    record.begin_ns = k_start_ns + ns(made.begin_s);
    record.end_ns = k_start_ns + ns(made.end_s);
    record.put_ns = own ? 0 : record.end_ns;
    record.cpu_ns = ns(item.work.cpu_s);
    record.run_delay_ns = ns(made.run_delay_s);
    record.io = io_of(spec_.job, item.work);
    record.io.read_bytes = static_cast<std::uint64_t>(static_cast<double>(record.io.read_bytes) * item.content);
    record.samples = static_cast<std::uint32_t>(spec_.job.batch_size);
    ProcessRecording& maker = own ? consumer_ : workers_[made.worker];
    maker.batches.push_back(record);
    if (item.segment != k_no_segment) maker.phases.push_back(phase_record(spec_, item));
  }

  void write_delivery(const Item& item, const Handed& handed) {
    write_wait(item.number, handed.asked_s, handed.delivered_s);
    double at = handed.delivered_s + item.step_s;
    const std::uint64_t first =
        spec_.stream ? k_supply_numbers + (static_cast<std::uint64_t>(item.replay_segment) << 16U) : item.number + 1;
    for (std::size_t i = 0; i < item.replayed.size(); ++i) {
      write_step(at);
      write_wait(first + i, at, at + k_replay_s);
      at += k_replay_s + item.replayed[i];
    }
    write_step(at);
  }

  void write_wait(std::uint64_t number, double asked_s, double got_s) {
    record::WaitRecord wait{};
    wait.header.aux = number == 0 ? record::k_wait_first : 0;
    wait.batch = number;
    wait.begin_ns = k_start_ns + ns(asked_s);
    wait.end_ns = k_start_ns + ns(got_s);
    wait.samples = static_cast<std::uint32_t>(spec_.job.batch_size);
    wait.ready = UINT32_MAX;
    consumer_.waits.push_back(wait);
  }

  void write_step(double at_s) { consumer_.steps.push_back({{}, steps_++, k_start_ns + ns(at_s)}); }

  const PhasedSpec& spec_;
  Schedule schedule_;
  ProcessRecording consumer_{};
  std::vector<ProcessRecording> workers_{};
  std::uint64_t steps_ = 0;
};

}  // namespace

RunData make_phased_run(const PhasedSpec& spec) {
  RunData run;
  for (int rank = 0; rank < spec.job.ranks; ++rank) {
    for (ProcessRecording& process : PhasedWriter(spec, rank).take()) run.processes.push_back(std::move(process));
  }
  run.log.ended = true;
  run.has_log = true;
  join_run(run);
  return run;
}

PhasedTruth truth_of(const PhasedSpec& spec, int batches) {
  constexpr std::size_t k_from = 100;  // the queue's start-up is over
  Random random(99);
  Draws draws = draw(spec.job, batches, random);
  for (simulation::BatchWork& work : draws.work) {
    const double content = log_normal(1.0, spec.content_cv, random);
    work.read_s *= content;
    work.cpu_s *= content;
  }
  const double factor = std::exp(spec.drift.sd * spec.drift.sd / 2.0);  // mean of a log-normal one of median 1
  const auto counted = static_cast<double>(draws.work.size() - 1 - k_from);
  double synthetic_s = 0.0;
  for (std::size_t i = k_from; i + 1 < draws.steps.size(); ++i)
    synthetic_s += draws.steps[i].device_s + draws.steps[i].cpu_s;
  const auto seconds_per_batch = [&](Phase phase) {
    std::vector<Item> items;
    for (std::size_t i = 0; i < draws.work.size(); ++i) {
      Item item;
      item.work = {reads(phase) ? draws.work[i].read_s : 0.0, draws.work[i].cpu_s, 0.0};
      if (phase != Phase::supply_cached) item.step_s = draws.steps[i].device_s + draws.steps[i].cpu_s;
      items.push_back(std::move(item));
    }
    const PlayedPass played = play(spec, items);
    return factor * (played.handed.back().delivered_s - played.handed[k_from].delivered_s) / counted;
  };
  return {seconds_per_batch(Phase::cold), seconds_per_batch(Phase::cached), factor * synthetic_s / counted,
          seconds_per_batch(Phase::supply_cached)};
}

}  // namespace stallcast::synthetic
