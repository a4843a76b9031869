#include "tests/analyzer/phased_builder.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <vector>

#include "tests/analyzer/job_draws.hpp"
#include "tests/analyzer/job_simulation.hpp"

namespace stallcast::synthetic {
namespace {

using record::Phase;
using record::ProcessRecording;
using record::TextKind;

constexpr std::uint32_t k_no_segment = UINT32_MAX;
constexpr double k_receive_s = 2e-6;  ///< of a batch that lies ready
constexpr std::uint32_t k_opens = 8;  ///< of a batch

bool reads(Phase phase) {
  return phase == Phase::cold || phase == Phase::as_is;
}

/// One batch that is made and handed over, in order.
struct Item {
  std::uint64_t number = 0;
  Phase phase = Phase::as_is;  ///< in which it is made
  std::uint32_t segment = k_no_segment;
  int at_once = 0;
  bool in_burst = false;
  bool ends_stretch = false;  ///< what comes after it begins with an empty queue
  simulation::BatchWork work{};
  double content = 1.0;  ///< times the mean bytes
  double step_s = 0.0;
};

struct SegmentText {
  std::uint32_t segment = 0;
  Phase phase = Phase::as_is;
  Phase made_as = Phase::as_is;
  int round = 0;
  std::uint64_t first = 0;
  int batches = 0;
  int at_once = 0;
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
  const double step = job.device_s + job.host_s;
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
    add_items(Phase::as_is, spec.as_is, -1, k_no_segment);
    for (int round = 0; round < spec.rounds; ++round) add_round(round);
    add_items(Phase::as_is, spec.tail, -1, k_no_segment);
  }

  std::vector<Item> items{};
  std::vector<SegmentText> segments{};

 private:
  void add_round(int round) {
    if (spec_.stream) {
      block(Phase::as_is, round, 0);
      bursts(Phase::as_is, round);
      return;
    }
    const bool lacks = rank_ == spec_.lacking_rank && round + 1 == spec_.rounds;
    if (lacks) {
      add_items(Phase::as_is, spec_.block, round, k_no_segment);
    } else {
      block(Phase::cold, round, 0);
    }
    bursts(Phase::cold, round);
    block(Phase::cached, round, 0);
    bursts(Phase::cached, round);
    if (spec_.at_once > 0) block(Phase::cached, round, spec_.at_once);
  }

  void block(Phase phase, int round, int at_once) {
    add_items(phase, spec_.block, round, announce(phase, Phase::as_is, spec_.block, round, at_once));
    if (at_once == 0) return;
    for (std::size_t i = items.size() - static_cast<std::size_t>(spec_.block); i < items.size(); ++i) {
      items[i].at_once = at_once;
    }
    items.back().ends_stretch = true;
  }

  void bursts(Phase made_as, int round) {
    const int batches = spec_.job.loader.workers * spec_.job.loader.prefetch_factor;
    for (int burst = 0; burst < spec_.bursts && batches > 0; ++burst) {
      add_items(made_as, batches, round, announce(Phase::synthetic, made_as, batches, round, 0));
      for (std::size_t i = items.size() - static_cast<std::size_t>(batches); i < items.size(); ++i) {
        items[i].in_burst = true;
      }
      items.back().ends_stretch = true;
    }
  }

  double factor(Phase phase, int round) {
    return speed_.after(usual_s(spec_.job, phase)) * (round >= 0 && round == spec_.slow_round ? spec_.slow : 1.0);
  }

  void add_items(Phase phase, int batches, int round, std::uint32_t segment) {
    const Draws draws = draw(spec_.job, batches, random_);
    for (std::size_t at = 0; at < static_cast<std::size_t>(batches); ++at) {
      const double speed = factor(phase, round);
      Item item;
      item.phase = phase;
      item.segment = segment;
      item.number = position_++;
      const double read = phase == Phase::as_is ? spec_.as_is_reads : reads(phase) ? 1.0 : 0.0;
      item.content = log_normal(1.0, spec_.content_cv, random_);
      const double times = speed * item.content;
      item.work = {draws.work[at].read_s * read * times, draws.work[at].cpu_s * times, draws.work[at].other_s * speed};
      item.step_s = (draws.steps[at].device_s + draws.steps[at].cpu_s) * speed;
      items.push_back(std::move(item));
    }
  }

  std::uint32_t announce(Phase phase, Phase made_as, int batches, int round, int at_once) {
    const auto segment = static_cast<std::uint32_t>(segments.size());
    segments.push_back({segment, phase, made_as, round, position_, batches, at_once});
    return segment;
  }

  const PhasedSpec& spec_;
  int rank_;
  Random random_;
  Speed speed_;
  std::uint64_t position_ = 0;
};

PlayedPass play(const simulation::LoaderSetup& loader, double cores, std::span<const Item> items) {
  std::vector<simulation::BatchWork> work;
  std::vector<simulation::StepWork> steps;
  for (const Item& item : items) {
    work.push_back(item.work);
    steps.push_back({item.step_s, 0.0});
  }
  return play_pass(loader, cores, 0.0, work, steps);
}

/// How a hold and burst went, in seconds since the start.
struct PlayedBurst {
  std::uint32_t segment = k_no_segment;
  std::uint64_t first = 0;
  std::size_t batches = 0;
  double asked_s = 0.0;
  double made_s = 0.0;
  double until_s = 0.0;
};

/// What a measured pass came to.
struct PlayedRun {
  PlayedPass pass{};
  std::vector<PlayedBurst> bursts{};
};

/// The script is held when it asks for the first batch of a burst, until all of it is made; it takes that from the
/// workers' queue, and nothing is made meanwhile: what comes after it begins with an empty queue.
void give_burst(std::span<const Item> burst, double asked_s, double& now_s, PlayedRun& run) {
  const std::size_t first = run.pass.handed.size();
  double made_s = asked_s;
  for (std::size_t i = 0; i < burst.size(); ++i) made_s = std::max(made_s, run.pass.made[first + i].end_s);
  now_s = made_s;
  for (const Item& item : burst) {
    Handed handed;
    handed.batch = item.number;
    handed.asked_s = now_s;
    handed.delivered_s = now_s + k_receive_s;
    run.pass.handed.push_back(handed);
    now_s = handed.delivered_s + item.step_s;
  }
  run.bursts.push_back({burst.front().segment, burst.front().number, burst.size(), asked_s, made_s, now_s});
}

/// A stretch ends with a burst, and the next one begins with an empty queue. n at a time is as good as n workers that
/// prefetch one batch each.
PlayedRun play_stretches(const PhasedSpec& spec, std::span<const Item> items) {
  PlayedRun run;
  double now_s = 0.0;
  for (std::size_t first = 0; first < items.size();) {
    std::size_t last = first;
    while (last + 1 < items.size() && !items[last].ends_stretch) ++last;
    const std::span<const Item> stretch = items.subspan(first, last - first + 1);
    const auto held = static_cast<std::size_t>(
        std::count_if(stretch.begin(), stretch.end(), [](const Item& item) { return item.in_burst; }));
    simulation::LoaderSetup loader = spec.job.loader;
    if (stretch.front().at_once > 0) loader = {stretch.front().at_once, 1, loader.in_order};
    const PlayedPass part = play(loader, spec.job.cores, stretch);
    for (Making made : part.made) {
      made.begin_s += now_s;
      made.end_s += now_s;
      run.pass.made.push_back(made);
    }
    const std::size_t alone = stretch.size() - held;
    double asked_s = now_s;
    for (std::size_t i = 0; i < alone; ++i) {
      Handed handed = part.handed[i];
      handed.asked_s += now_s;
      handed.delivered_s += now_s;
      asked_s = handed.delivered_s + stretch[i].step_s;
      run.pass.handed.push_back(handed);
    }
    now_s = asked_s;
    if (held > 0) give_burst(stretch.subspan(alone), asked_s, now_s, run);
    first = last + 1;
  }
  return run;
}

record::PhaseRecord phase_record(const PhasedSpec& spec, const Item& item) {
  const double bytes = k_bytes_per_sample * spec.job.batch_size * item.content;
  const bool cold = item.phase == Phase::cold || item.phase == Phase::as_is;
  record::PhaseRecord found{};
  found.header.aux = item.segment;
  found.batch = item.number;
  const Phase supply = item.phase == Phase::cold     ? Phase::supply_cold
                       : item.phase == Phase::cached ? Phase::supply_cached
                                                     : item.phase;
  found.phase = static_cast<std::uint32_t>(item.in_burst ? supply : item.phase);
  const bool in_shards = spec.file_batches >= 1.0;
  const bool begins_shard = in_shards && item.number % static_cast<std::uint64_t>(spec.file_batches) == 0;
  found.opens = in_shards ? (begins_shard ? 1 : 0) : k_opens;
  found.opened_bytes = static_cast<std::uint64_t>(bytes * spec.file_batches * found.opens);
  const double resident = cold ? spec.cold_resident_share : spec.cached_resident_share;
  found.resident_bytes = static_cast<std::uint64_t>(bytes * spec.file_batches * found.opens * resident);
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
    const PlayedRun played = play_stretches(spec, schedule_.items);
    for (std::size_t i = 0; i < schedule_.items.size(); ++i) {
      const Item& item = schedule_.items[i];
      const Handed& handed = played.pass.handed[i];
      write_making(item, played.pass.made[i]);
      write_wait(item.number, handed.asked_s, handed.delivered_s);
      write_step(handed.delivered_s + item.step_s);
    }
    for (const SegmentText& segment : schedule_.segments) write_segment(segment, played.bursts);
    for (const PlayedBurst& burst : played.bursts) write_burst(burst);
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

  /// A segment is announced when the script comes to its first batch: before the hold, where there is one.
  [[nodiscard]] std::uint64_t announced_ns(const SegmentText& segment, const std::vector<PlayedBurst>& bursts) const {
    const auto held = std::find_if(bursts.begin(), bursts.end(),
                                   [&](const PlayedBurst& burst) { return burst.segment == segment.segment; });
    if (held != bursts.end()) return k_start_ns + ns(held->asked_s);
    return consumer_.waits[segment.first].begin_ns - 1;
  }

  void write_segment(const SegmentText& segment, const std::vector<PlayedBurst>& bursts) {
    consumer_.texts.push_back(
        {TextKind::segment,
         fmt::format(R"({{"segment":{},"phase":{},"round":{},"iterator_id":0,"first":{},"batches":{},"workers":{},)"
                     R"("at_once":{},"made_as":{},"argument":0,"t_ns":{}{}}})",
                     segment.segment, static_cast<int>(segment.phase), segment.round, segment.first, segment.batches,
                     spec_.job.loader.workers, segment.at_once, static_cast<int>(segment.made_as),
                     announced_ns(segment, bursts), spec_.stream ? R"(,"stream":"it is a stream")" : "")});
  }

  void write_burst(const PlayedBurst& burst) {
    const auto at = [](double seconds) { return k_start_ns + ns(seconds); };
    consumer_.texts.push_back(
        {TextKind::burst,
         fmt::format(R"({{"segment":{},"iterator_id":0,"first":{},"batches":{},"under_way":{},"asked_ns":{},)"
                     R"("made_ns":{},"released_ns":{},"until_ns":{},"workers_cpu_s":0.0}})",
                     burst.segment, burst.first, burst.batches, burst.batches, at(burst.asked_s), at(burst.made_s),
                     at(burst.made_s), at(burst.until_s))});
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
      item.step_s = draws.steps[i].device_s + draws.steps[i].cpu_s;
      items.push_back(std::move(item));
    }
    const PlayedPass played = play(spec.job.loader, spec.job.cores, items);
    return factor * (played.handed.back().delivered_s - played.handed[k_from].delivered_s) / counted;
  };
  double making_s = 0.0;
  for (const simulation::BatchWork& work : draws.work) making_s += work.cpu_s / static_cast<double>(draws.work.size());
  return {seconds_per_batch(Phase::cold), seconds_per_batch(Phase::cached), factor * synthetic_s / counted,
          factor * making_s / std::max(1, spec.job.loader.workers)};
}

}  // namespace stallcast::synthetic
