#include "probes/collect/run/watch.hpp"

#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <utility>

#include "core/clock.hpp"
#include "probes/collect/launch/command_facts.hpp"
#include "probes/collect/run/constants.hpp"
#include "probes/collect/run/job_end.hpp"
#include "probes/collect/run/log_lines.hpp"
#include "probes/collect/run/rank_reading.hpp"
#include "probes/collect/system/cpu_throttling.hpp"
#include "probes/collect/system/host_facts.hpp"
#include "probes/collect/system/text_file.hpp"

namespace stallcast::collect {
namespace {

constexpr std::uint64_t k_second = 1'000'000'000ULL;

std::uint64_t nanoseconds(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * k_second + static_cast<std::uint64_t>(time.tv_usec) * 1000;
}

class Watch {
 public:
  Watch(pid_t child, record::ControlBlock& control, ToolLog& log, SignalGate& gate, ProcessTree tree,
        const WatchOptions& options)
      : child_(child), control_(control), log_(log), gate_(gate), tree_(std::move(tree)), options_(options) {}

  WatchEnd run();

 private:
  void beat(std::uint64_t now);
  void announce_loading(const std::vector<RankReading>& ranks);
  void edge(std::uint64_t now);
  void tick(std::uint64_t now, bool recording, bool details);
  void measure_details(std::uint64_t now);
  [[nodiscard]] std::uint64_t details_interval(std::uint64_t now) const;
  void inspect_newcomers();
  void sleep_until(std::uint64_t deadline);
  void take_signals();
  void reap();
  void stop_if_due(std::uint64_t now);
  void wait_for_descendants();

  pid_t child_;
  record::ControlBlock& control_;
  ToolLog& log_;
  SignalGate& gate_;
  ProcessTree tree_;
  const WatchOptions& options_;
  CpuThrottlingReader throttling_{"/"};
  MachineCpuReader machine_cpu_{"/"};
  WatchEnd end_{};
  bool ended_ = false;
  bool hurry_ = false;  ///< somebody wants us gone: no grace
  JobEnd job_end_{options_.end_grace_ns};
  std::uint64_t begin_ns_ = monotonic_ns();
  std::uint64_t next_edge_ns_ = begin_ns_;
  std::optional<std::uint64_t> first_batch_ns_{};
  std::optional<std::uint64_t> pairs_begin_ns_{};
  std::uint64_t next_details_ns_ = begin_ns_;
  std::uint64_t details_cost_ns_ = 0;       ///< of the cheaper one of the last two readings
  std::uint64_t last_details_cost_ns_ = 0;  ///< one that the machine held up says nothing of the next
  std::uint64_t next_proportional_ns_ = begin_ns_ + 5 * k_second;  ///< of a job without a loader; else as beat() says
  std::uint64_t next_forget_ns_ = begin_ns_ + k_forget_ns;
  bool limit_reached_ = false;
  bool announced_ = false;  ///< on_loading was called
};

/// Ten times a second: tell the job that we live, and see whether it has begun to iterate.
void Watch::beat(std::uint64_t now) {
  control_.heartbeat_ns.store(now, std::memory_order_relaxed);
  if (options_.on_beat) options_.on_beat(now);
  if (!ended_) stop_if_due(now);
  if (!first_batch_ns_) {
    const auto ranks = read_ranks(control_);
    announce_loading(ranks);
    const bool iterating = std::any_of(ranks.begin(), ranks.end(), [](const RankReading& rank) {
      return rank.state == record::RankState::iterating || rank.batches > 0;
    });
    if (!iterating) return;
    first_batch_ns_ = now;
    end_.consumer_seen = true;
    next_proportional_ns_ = std::min(next_proportional_ns_, now + k_workers_settle_ns);
    if (options_.duty != OverheadDuty::off) {
      pairs_begin_ns_ = now + k_settle_ns;
      next_edge_ns_ = std::min(next_edge_ns_, *pairs_begin_ns_);
    }
  }
  if (options_.recording_limit_ns && now - *first_batch_ns_ >= *options_.recording_limit_ns) {
    limit_reached_ = true;
    control_.stop.store(1, std::memory_order_relaxed);
  }
}

/// A job without a loader takes steps and never waits.
void Watch::announce_loading(const std::vector<RankReading>& ranks) {
  const bool loading = std::any_of(ranks.begin(), ranks.end(), [](const RankReading& rank) {
    return rank.state != record::RankState::idle || rank.steps > 0;
  });
  if (announced_ || !loading) return;
  announced_ = true;
  if (options_.on_loading) options_.on_loading();
}

/// The border between two stretches.
void Watch::edge(std::uint64_t now) {
  bool recording = !limit_reached_;
  bool compared = false;
  if (!limit_reached_ && pairs_begin_ns_ && now >= *pairs_begin_ns_) {
    const std::uint64_t stretch = (now - *pairs_begin_ns_) / stretch_ns(options_.duty);
    recording = stretch_records(options_.duty, stretch);
    compared =
        stretch_is_compared(options_.duty, stretch) || (stretch > 0 && stretch_is_compared(options_.duty, stretch - 1));
    next_edge_ns_ = *pairs_begin_ns_ + (stretch + 1) * stretch_ns(options_.duty);
  } else {
    next_edge_ns_ = now + stretch_ns(options_.duty);
    if (pairs_begin_ns_ && now < *pairs_begin_ns_) next_edge_ns_ = std::min(next_edge_ns_, *pairs_begin_ns_);
  }
  const bool details = now >= next_details_ns_;
  if (options_.on_recording) options_.on_recording(recording);
  if (compared || details) tick(now, recording, details);
  control_.recording.store(recording ? 1 : 0, std::memory_order_relaxed);
}

void Watch::tick(std::uint64_t now, bool recording, bool details) {
  TickLine line;
  line.t_ns = now;
  line.ranks = read_ranks(control_);
  line.recording = recording;
  // The switch follows at once; what is read after it takes too long to lie on the border.
  control_.recording.store(recording ? 1 : 0, std::memory_order_relaxed);
  if (now >= next_forget_ns_) {
    tree_.forget_others();
    next_forget_ns_ = now + k_forget_ns;
  }
  tree_.discover();  // workers of a new epoch belong to the sum from their first edge on
  tree_.measure_cpu();
  line.tree_cpu_ns = tree_.cpu_ns();
  if (details) {
    measure_details(now);
    line.processes = &tree_.processes();
    line.tree_read_bytes = tree_.read_bytes();
    line.shm_free_bytes = free_bytes("/dev/shm");
    line.throttling = throttling_.read();
    line.machine = machine_cpu_.read();
  }
  line.tool_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  log_.append(to_line(line));
}

void Watch::measure_details(std::uint64_t now) {
  inspect_newcomers();
  const bool proportional = now >= next_proportional_ns_;
  const std::uint64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  tree_.measure_details(proportional);
  const std::uint64_t cost = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
  end_.without_io = std::max(end_.without_io, tree_.without_io());
  if (proportional) {
    next_proportional_ns_ = now + std::max(10 * k_second, cost * k_proportional_share);
  } else {
    details_cost_ns_ = std::min(cost, last_details_cost_ns_);
    last_details_cost_ns_ = cost;
  }
  next_details_ns_ = now + details_interval(now);
}

/// 1 s for 10 minutes, 10 s for an hour, then 60 s; more rarely where it costs too much or the log grows too long.
std::uint64_t Watch::details_interval(std::uint64_t now) const {
  const std::uint64_t age = now - begin_ns_;
  const std::uint64_t usual = age < 600 * k_second ? k_second : age < 3600 * k_second ? 10 * k_second : 60 * k_second;
  const std::uint64_t doublings = std::min<std::uint64_t>(log_.bytes() / k_log_quantum_bytes, 12);
  // A little less than a whole number of stretches, so that the edge that is meant is not missed by a hair.
  return std::max(usual << doublings, details_cost_ns_ * k_details_share) - k_heartbeat_ns;
}

/// Where no loader shows up, these say why. The arguments of a process change when it execs, so all are looked at until
/// a consumer is seen; nothing of them is kept but the one flag.
void Watch::inspect_newcomers() {
  if (end_.consumer_seen) return;
  for (const Process& process : tree_.processes()) {
    const auto text = tree_.reader().command_line(process.pid);
    if (!text || text->empty()) continue;
    std::vector<std::string> arguments;
    for (const std::string_view word : split_fields(*text, '\0')) arguments.emplace_back(word);
    if (arguments.empty() || !is_python(arguments[0])) continue;
    const std::string flag = isolating_python_flag(arguments);
    if (!flag.empty()) end_.isolating_flag = flag;
    if (tree_.reader().has_variable(process.pid, record::k_env_run_dir) == false) end_.environment_stripped = true;
  }
}

void Watch::sleep_until(std::uint64_t deadline) {
  const std::uint64_t now = monotonic_ns();
  if (deadline > now) {
    const timespec timeout{static_cast<time_t>((deadline - now) / k_second),
                           static_cast<long>((deadline - now) % k_second)};
    pollfd waiting{gate_.descriptor(), POLLIN, 0};
    ppoll(&waiting, 1, &timeout, nullptr);
  }
  take_signals();
  reap();
}

void Watch::take_signals() {
  while (const auto signal = gate_.next()) {
    const int number = static_cast<int>(signal->ssi_signo);
    if (number == SIGCHLD) continue;
    if (asks_to_end(number)) {
      end_.interrupted = true;
      hurry_ = hurry_ || ended_;
    }
    // What the job sends to its own group it does not want back.
    const bool from_job = tree_.contains(static_cast<pid_t>(signal->ssi_pid));
    if (!ended_ && sent_to_us_alone(*signal) && !from_job) kill(child_, number);
  }
}

/// Ends of the command and of orphans that became our children. Their last I/O counters are read while they are
/// zombies: after the wait nobody knows them any more.
void Watch::reap() {
  siginfo_t info{};
  while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0) {
    const pid_t pid = info.si_pid;
    const auto io = tree_.reader().io(pid);
    int status = 0;
    rusage used{};
    if (wait4(pid, &status, WNOHANG, &used) != pid) return;
    tree_.add_reaped(pid, nanoseconds(used.ru_utime) + nanoseconds(used.ru_stime), io);
    if (pid == child_) {
      ended_ = true;
      end_.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
      end_.exit_code = WIFSIGNALED(status) ? 128 + end_.signal : WEXITSTATUS(status);
    }
    info = {};
  }
}

/// A command that has ended by itself, whatever was asked for, was not ended by us.
void Watch::stop_if_due(std::uint64_t now) {
  if (end_.ended_by_us) {
    job_end_.pursue(now, /*command_lives=*/true, tree_);
    return;
  }
  const bool at_limit = options_.stop_at_limit && limit_reached_;
  if (!at_limit && !(options_.wants_stop && options_.wants_stop(now))) return;
  reap();
  if (ended_) return;
  end_.ended_by_us = true;
  std::vector<pid_t> ranks;
  for (const RankReading& rank : read_ranks(control_)) ranks.push_back(static_cast<pid_t>(rank.pid));
  job_end_.begin(now, child_, ranks, tree_);
}

void Watch::wait_for_descendants() {
  const std::uint64_t deadline = monotonic_ns() + options_.descendants_grace_ns;
  while (true) {
    tree_.discover();
    tree_.measure_cpu();
    const std::uint64_t now = monotonic_ns();
    const bool pursued = end_.ended_by_us && job_end_.pursue(now, /*command_lives=*/false, tree_);
    if (tree_.processes().empty() || hurry_ || (now >= deadline && !pursued)) break;
    control_.heartbeat_ns.store(now, std::memory_order_relaxed);
    sleep_until(now + k_heartbeat_ns / 2);
  }
  for (const Process& process : tree_.processes()) end_.left_behind.push_back(process.stat.name);
}

WatchEnd Watch::run() {
  while (!ended_) {
    const std::uint64_t now = monotonic_ns();
    beat(now);
    if (now >= next_edge_ns_) edge(now);
    sleep_until(std::min(now + k_heartbeat_ns, next_edge_ns_));
  }
  beat(monotonic_ns());
  tick(monotonic_ns(), true, true);
  wait_for_descendants();
  control_.stop.store(1, std::memory_order_release);
  const auto ranks = read_ranks(control_);
  end_.consumer_seen = end_.consumer_seen || !ranks.empty();
  return end_;
}

}  // namespace

WatchEnd watch(pid_t child, record::ControlBlock& control, ToolLog& log, SignalGate& gate, ProcessTree tree,
               const WatchOptions& options) {
  return Watch(child, control, log, gate, std::move(tree), options).run();
}

}  // namespace stallcast::collect
