#include "tests/analyzer/run_builder.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "tests/analyzer/job_draws.hpp"
#include "tests/analyzer/job_simulation.hpp"
#include "tests/analyzer/tool_watch.hpp"

namespace stallcast::synthetic {
namespace {

using record::ProcessRecording;
using record::TextKind;

/// Records of one rank's processes while its passes are played one after another.
class RankWriter {
 public:
  RankWriter(const JobSpec& spec, int rank, Watched& watched)
      : spec_(spec), rank_(rank), watched_(watched), random_(spec.seed * 1000 + static_cast<std::uint64_t>(rank)) {
    consumer_ = process(k_first_consumer_pid * (rank + 1), 1);
    consumer_.texts.push_back({TextKind::process,
                               R"({"role":"consumer","framework":"pytorch","torch":"2.1.0","python":"3.11.2",)"
                               R"("torch_threads":4,"cuda":false})"});
    add_loader(1, "TrainSet", spec.loader.workers, true);
    if (spec.evaluate_every > 0) add_loader(2, "EvaluationSet", 0, false);
  }

  std::vector<ProcessRecording> run() {
    for (int pass = 0; pass < spec_.passes; ++pass) play(pass);
    std::vector<ProcessRecording> all{std::move(consumer_)};
    for (auto& worker : workers_) {
      if (!spec_.lost_workers.contains(worker.info.pid)) all.push_back(std::move(worker));
    }
    return all;
  }

 private:
  [[nodiscard]] ProcessRecording process(std::int64_t pid, std::int64_t parent) const {
    ProcessRecording made;
    made.info.run_id = "synthetic";
    made.info.host = "node0";
    made.info.executable = "/usr/bin/python3";
    made.info.pid = static_cast<std::int32_t>(pid);
    made.info.parent_pid = static_cast<std::int32_t>(parent);
    made.info.rank = spec_.ranks > 1 ? static_cast<std::uint32_t>(rank_) : UINT32_MAX;
    made.info.start_monotonic_ns = k_start_ns;
    made.file_bytes = 100'000;
    return made;
  }

  void add_loader(int id, const char* dataset, int workers, bool shuffled) {
    consumer_.texts.push_back({TextKind::loader, loader_text(spec_, id, dataset, workers, shuffled)});
  }

  /// New workers, or those of the first pass.
  void start_workers(int pass) {
    if (pass > 0 && spec_.persistent) return;
    const auto first = static_cast<std::int64_t>(workers_.size());
    current_ = static_cast<std::size_t>(first);
    for (int worker = 0; worker < spec_.loader.workers; ++worker) {
      workers_.push_back(process(consumer_.info.pid + 1 + first + worker, consumer_.info.pid));
      workers_.back().texts.push_back({TextKind::process, R"({"role":"worker","torch_threads":1})"});
    }
  }

  [[nodiscard]] std::vector<std::int64_t> worker_pids() const {
    std::vector<std::int64_t> pids;
    for (std::size_t i = current_; i < workers_.size(); ++i) pids.push_back(workers_[i].info.pid);
    return pids;
  }

  void play(int pass) {
    start_workers(pass);
    draws_ = draw(spec_, spec_.batches, random_);
    std::vector<simulation::StepWork> steps = draws_.steps;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (evaluates_after(i)) steps[i].device_s += evaluation_s();
    }
    const bool fresh = pass == 0 || !spec_.persistent;
    iterator_ = next_iterator_++;
    consumer_.texts.push_back({TextKind::iterator, iterator_text(iterator_, 1, pass, worker_pids())});
    const PlayedPass played =
        play_pass(spec_.loader, spec_.cores, fresh ? spec_.startup_s * spec_.scale : 0.0, draws_.work, steps);
    for (std::size_t i = 0; i < played.made.size(); ++i) write_making(played.made[i], i, pass);
    for (std::size_t i = 0; i < played.handed.size(); ++i) {
      const double next = i + 1 < played.handed.size() ? played.handed[i + 1].asked_s : played.end_s;
      write_delivery(played, i, next);
    }
    write_end_of_pass(played);
    begin_s_ += played.end_s;
  }

  void write_making(const Making& made, std::size_t batch, int pass) {
    const simulation::BatchWork& work = draws_.work[batch];
    const double begin = begin_s_ + made.begin_s;
    const double end = begin_s_ + made.end_s;
    watched_.used_cpu(end, work.cpu_s);
    watched_.read(end, k_bytes_per_sample * spec_.batch_size);
    if (!recorded(begin) || !recorded(end)) return;
    const bool own = spec_.loader.workers == 0;
    record::BatchRecord record{};
    record.header.aux = own ? UINT32_MAX : static_cast<std::uint32_t>(made.worker);
    record.iterator_id = own ? iterator_ : static_cast<std::uint64_t>(spec_.persistent ? pass : 0);
    record.batch = batch;
    record.begin_ns = k_start_ns + ns(begin);
    record.end_ns = k_start_ns + ns(end);
    record.put_ns = own ? 0 : record.end_ns;
    record.cpu_ns = ns(work.cpu_s);
    record.run_delay_ns = spec_.run_delay_known ? ns(made.run_delay_s) : UINT64_MAX;
    record.io = io_of(spec_, work);
    // Computing for reads waits for a core as all computing does.
    if (work.cpu_s > 0.0) record.io.read_ns += ns(made.run_delay_s * spec_.read_cpu_s * spec_.scale / work.cpu_s);
    record.samples = static_cast<std::uint32_t>(spec_.batch_size);
    ProcessRecording& maker = own ? consumer_ : workers_[current_ + made.worker];
    if (spec_.samples) add_samples(spec_, record, maker);
    maker.batches.push_back(record);
  }

  void write_delivery(const PlayedPass& played, std::size_t i, double next_asked_s) {
    const Handed& handed = played.handed[i];
    const double at = begin_s_ + handed.delivered_s;
    if (spec_.loader.workers == 0) cpu_s_ += draws_.work[handed.batch].cpu_s;
    watched_.delivered(rank_, at, spec_.batch_size, handed.delivered_s - handed.asked_s);
    if (recorded(at)) {
      record::WaitRecord wait = wait_record(iterator_, handed.batch, begin_s_ + handed.asked_s, at);
      wait.header.aux = i == 0 ? record::k_wait_first : 0;
      wait.ready = static_cast<std::uint32_t>(handed.ready);
      consumer_.waits.push_back(wait);
    }
    cpu_s_ += draws_.steps[i].cpu_s;
    const double evaluation = evaluates_after(i) ? evaluation_s() : 0.0;
    const double computed = begin_s_ + next_asked_s - evaluation;
    watched_.used_cpu(computed, draws_.steps[i].cpu_s);
    watched_.waited_for_core(rank_, computed, handed.step_delay_s);
    if (spec_.accumulate > 0 && (i + 1) % static_cast<std::size_t>(spec_.accumulate) == 0) write_step(computed);
    if (evaluation > 0.0) write_evaluation(computed);
  }

  [[nodiscard]] record::WaitRecord wait_record(std::uint64_t iterator, std::uint64_t batch, double asked_s,
                                               double got_s) const {
    record::WaitRecord wait{};
    wait.iterator_id = iterator;
    wait.batch = batch;
    wait.begin_ns = k_start_ns + ns(asked_s);
    wait.end_ns = k_start_ns + ns(got_s);
    wait.samples = static_cast<std::uint32_t>(spec_.batch_size);
    wait.ready = UINT32_MAX;
    wait.cpu_ns = ns(1.0 + cpu_s_);
    return wait;
  }

  void write_step(double at_s) {
    const std::uint64_t number = steps_++;
    watched_.stepped(rank_, at_s);
    if (recorded(at_s)) consumer_.steps.push_back({{}, number, k_start_ns + ns(at_s)});
  }

  /// A pass of its own over the evaluation loader, half of it waiting.
  void write_evaluation(double from_s) {
    const std::uint64_t iterator = next_iterator_++;
    consumer_.texts.push_back({TextKind::iterator, iterator_text(iterator, 2, 0, {})});
    const double each = spec_.evaluation_s * spec_.scale;
    for (int i = 0; i < spec_.evaluation_batches; ++i) {
      const double asked = from_s + i * each;
      const double got = asked + each / 2.0;
      if (recorded(got)) consumer_.waits.push_back(wait_record(iterator, static_cast<std::uint64_t>(i), asked, got));
    }
  }

  void write_end_of_pass(const PlayedPass& played) {
    const double at = begin_s_ + played.end_s;
    if (!recorded(at)) return;
    record::WaitRecord end = wait_record(iterator_, played.handed.size(), at, at);
    end.header.aux = record::k_wait_end_of_epoch;
    end.samples = 0;
    consumer_.waits.push_back(end);
  }

  [[nodiscard]] bool evaluates_after(std::size_t i) const {
    return spec_.evaluate_every > 0 && (i + 1) % static_cast<std::size_t>(spec_.evaluate_every) == 0;
  }
  [[nodiscard]] double evaluation_s() const { return spec_.evaluation_batches * spec_.evaluation_s * spec_.scale; }
  [[nodiscard]] bool recorded(double at_s) const { return is_recorded(spec_, at_s); }

  const JobSpec& spec_;
  int rank_;
  Watched& watched_;
  Random random_;
  Draws draws_{};
  ProcessRecording consumer_{};
  std::vector<ProcessRecording> workers_{};
  std::size_t current_ = 0;  ///< first of the workers of this pass
  std::uint64_t iterator_ = 0;
  std::uint64_t next_iterator_ = 0;
  std::uint64_t steps_ = 0;
  double begin_s_ = 0.0;
  double cpu_s_ = 0.0;
};

}  // namespace

JobSpec compute_bound() {
  JobSpec spec;
  spec.read_s = 0.05;
  spec.cpu_s = 0.06;
  return spec;
}

JobSpec prep_bound() {
  JobSpec spec;
  spec.read_s = 0.02;
  spec.cpu_s = 0.5;
  return spec;
}

JobSpec fetch_bound() {
  return JobSpec{};
}

RunData make_recordings(const JobSpec& spec) {
  RunData run;
  Watched watched(spec);
  for (int rank = 0; rank < spec.ranks; ++rank) {
    RankWriter writer(spec, rank, watched);
    for (ProcessRecording& process : writer.run()) run.processes.push_back(std::move(process));
  }
  run.log = watched.log();
  run.has_log = true;
  return run;
}

RunData make_run(const JobSpec& spec) {
  RunData run = make_recordings(spec);
  join_run(run);
  return run;
}

const DataIssue* issue_of(const std::vector<DataIssue>& issues, const std::string& id) {
  const auto found = std::find_if(issues.begin(), issues.end(), [&](const DataIssue& issue) { return issue.id == id; });
  return found != issues.end() ? &*found : nullptr;
}

const DataIssue* issue_of(const Profile& profile, const std::string& id) {
  return issue_of(profile.issues, id);
}

}  // namespace stallcast::synthetic
