/// Where the job's CPU time went: samples (probes/collect/perf/cpu_probe) laid over what the recordings say of the
/// time.
///
/// Worked example. A sample of worker 4711 at 12.345 s counts if the worker was making a batch then, and what the batch
/// was made from was its memory or the state as found: not a block whose files were evicted first, nor one with CPU
/// time added on purpose.
#include "analyzer/resources/cpu.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>

#include "analyzer/resources/constants.hpp"
#include "analyzer/resources/cpu_shares.hpp"
#include "analyzer/steps/rank_view.hpp"
#include "probes/record/control.hpp"

namespace stallcast::sections {
namespace {

using record::Phase;
using record::ProcessRecording;

/// A stretch of one process's time.
struct Doing {
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  bool counts = true;  ///< not what phases have put in the way of what was found
};

using Doings = std::vector<Doing>;

const Doing* at(const Doings& stretches, std::uint64_t t_ns) {
  auto after = std::upper_bound(stretches.begin(), stretches.end(), t_ns,
                                [](std::uint64_t t, const Doing& stretch) { return t < stretch.begin_ns; });
  if (after == stretches.begin()) return nullptr;
  --after;
  return t_ns < after->end_ns ? &*after : nullptr;
}

bool is_perturbed(Phase phase) {
  return phase == Phase::perturb_cpu || phase == Phase::perturb_read;
}

bool is_from_memory(Phase phase) {
  return phase == Phase::as_is || phase == Phase::cached || phase == Phase::supply_cached;
}

/// When the process made batches; those with time added on purpose are left out.
Doings making_of(const ProcessRecording& process) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, Phase> phases;
  for (const record::PhaseRecord& phase : process.phases) {
    phases[{phase.iterator_id, phase.batch}] = static_cast<Phase>(phase.phase);
  }
  Doings made;
  for (const record::BatchRecord& batch : process.batches) {
    const auto phase = phases.find({batch.iterator_id, batch.batch});
    if (phase != phases.end() && is_perturbed(phase->second)) continue;
    made.push_back(
        {batch.begin_ns, std::max(batch.end_ns, batch.put_ns), phase == phases.end() || is_from_memory(phase->second)});
  }
  std::sort(made.begin(), made.end(), [](const Doing& a, const Doing& b) { return a.begin_ns < b.begin_ns; });
  return made;
}

/// When a consumer trained.
Doings training_of(const ProcessRecording& process) {
  if (process.waits.size() < 2) return {};
  Doing training{UINT64_MAX, 0, true};
  for (const record::WaitRecord& wait : process.waits) {
    training.begin_ns = std::min(training.begin_ns, wait.end_ns);
    training.end_ns = std::max(training.end_ns, wait.end_ns);
  }
  return {training};
}

/// One process of a launch, as its recording shows it.
struct Role {
  Doings making{};
  Doings training{};
};

using Roles = std::map<std::int64_t, Role>;

/// Of the host that the tool ran on: pids of others mean other processes.
Roles roles_of(const RunData& run) {
  Roles roles;
  const std::string host = run.log.host ? run.log.host->name : "";
  for (const ProcessRecording& process : run.processes) {
    if (!host.empty() && process.info.host != host.substr(0, sizeof(record::FileHeader::host) - 1)) continue;
    Role& role = roles[process.info.pid];
    role.making = making_of(process);
    role.training = training_of(process);
  }
  return roles;
}

struct Tallies {
  CpuTally makers{};
  CpuTally main{};
  std::map<std::pair<const RunData*, std::int64_t>, CpuProcess> processes{};  ///< pids are a node's own
};

void count_launch(const RunData& run, Tallies& tallies) {
  const Roles roles = roles_of(run);
  std::map<std::int64_t, std::string> names;
  for (const record::CpuProcessName& process : run.cpu->names) names[process.pid] = process.name;
  for (const record::CpuSample& sample : run.cpu->samples) {
    CpuProcess& process = tallies.processes[{&run, sample.pid}];
    ++process.samples;
    const auto role = roles.find(sample.pid);
    if (process.samples == 1) {
      const bool known = role != roles.end();
      const bool trains = known && !role->second.training.empty();
      process = {sample.pid, names[sample.pid],
                 trains                                  ? "main"
                 : known && !role->second.making.empty() ? "worker"
                                                         : "other",
                 1};
    }
    if (role == roles.end()) continue;
    const record::CpuSymbol& symbol = run.cpu->symbols[sample.symbol];
    if (const Doing* made = at(role->second.making, sample.t_ns)) {
      if (made->counts) tallies.makers.add(made->begin_ns, symbol);
      continue;
    }
    const Doing* trained = at(role->second.training, sample.t_ns);
    if (trained != nullptr && trained->counts) tallies.main.add(sample.t_ns / k_main_cluster_ns, symbol);
  }
}

void fill_functions(const CpuTally& tally, const std::string& absent, const char* whose,
                    Measured<std::int64_t>& samples, std::vector<CpuFunctions>& functions) {
  if (!absent.empty()) {
    samples = Measured<std::int64_t>::absent(absent);
  } else if (tally.samples() < k_fewest_cpu_samples) {
    samples = Measured<std::int64_t>::absent("only " + std::to_string(tally.samples()) + " CPU samples of " + whose);
  } else {
    samples = tally.samples();
    functions = tally.functions();
  }
}

void fill_processes(const Tallies& tallies, std::vector<CpuProcess>& out) {
  for (const auto& [key, process] : tallies.processes) out.push_back(process);
  std::stable_sort(out.begin(), out.end(), [](const CpuProcess& a, const CpuProcess& b) {
    return std::pair(b.samples, a.pid) < std::pair(a.samples, b.pid);
  });
  out.resize(std::min(out.size(), k_most_cpu_processes));
}

/// First and last reading while batches were taken.
struct CounterSpan {
  const record::CpuReading* first = nullptr;
  const record::CpuReading* last = nullptr;
};

CounterSpan span_of(const RunData& run) {
  std::uint64_t begin_ns = UINT64_MAX;
  std::uint64_t end_ns = 0;
  for (const Consumer& consumer : run.consumers) {
    for (const Pass& pass : consumer.passes) {
      if (pass.deliveries.empty()) continue;
      begin_ns = std::min(begin_ns, pass.deliveries.front().wait.end_ns);
      end_ns = std::max(end_ns, pass.deliveries.back().wait.end_ns);
    }
  }
  CounterSpan span;
  for (const record::CpuReading& reading : run.cpu->readings) {
    if (reading.t_ns < begin_ns || reading.t_ns > end_ns) continue;
    if (span.first == nullptr) span.first = &reading;
    span.last = &reading;
  }
  return span;
}

/// One counter over the span; scaled by the share of the time that it really counted.
Measured<double> counted(const RunData& run, const CounterSpan& span, const char* name, double* running = nullptr) {
  const auto& counters = run.cpu->counters;
  const auto found =
      std::find_if(counters.begin(), counters.end(), [name](const auto& counter) { return counter.name == name; });
  if (found == counters.end()) {
    return Measured<double>::absent(run.cpu->absent.empty() ? "not counted in this run" : run.cpu->absent);
  }
  if (!found->absent.empty()) return Measured<double>::absent(found->absent);
  if (span.first == span.last) return Measured<double>::absent("the run was too short to read counters twice");
  const auto index = static_cast<std::size_t>(found - counters.begin());
  const record::CpuCount& first = span.first->counts[index];
  const record::CpuCount& last = span.last->counts[index];
  const auto enabled = static_cast<double>(last.enabled_ns - first.enabled_ns);
  const auto ran = static_cast<double>(last.running_ns - first.running_ns);
  if (enabled <= 0.0 || ran <= 0.0) return Measured<double>::absent("the hardware had no room for this counter");
  if (running != nullptr) *running = ran / enabled;
  return static_cast<double>(last.value - first.value) * enabled / ran;
}

Measured<std::int64_t> whole(const Measured<double>& value) {
  return value ? Measured<std::int64_t>(std::llround(*value)) : Measured<std::int64_t>::absent(value.reason());
}

CpuCounters counters_of(const RunData& run) {
  CpuCounters out;
  const CounterSpan span = span_of(run);
  const Measured<double> clock = counted(run, span, "task_clock_ns");
  out.task_clock = clock ? Measured<Seconds>(Seconds(*clock * 1e-9)) : Measured<Seconds>::absent(clock.reason());
  out.span = clock ? Measured<Seconds>(Seconds(static_cast<double>(span.last->t_ns - span.first->t_ns) * 1e-9))
                   : Measured<Seconds>::absent(clock.reason());
  out.context_switches = whole(counted(run, span, "context_switches"));
  out.migrations = whole(counted(run, span, "migrations"));
  out.minor_faults = whole(counted(run, span, "minor_faults"));
  out.major_faults = whole(counted(run, span, "major_faults"));
  double running = 0.0;
  const Measured<double> cycles = counted(run, span, "cycles", &running);
  out.cycles = whole(cycles);
  out.hardware_running = cycles ? Measured<Fraction>(running) : Measured<Fraction>::absent(cycles.reason());
  out.instructions = whole(counted(run, span, "instructions"));
  out.llc_misses = whole(counted(run, span, "llc_misses"));
  return out;
}

/// What several nodes counted; absent if one of them did not.
template <class Q>
void add_count(const Measured<Q>& more, Measured<Q>& sum) {
  if (!sum) return;
  sum = more ? Measured<Q>(*sum + *more) : more;
}

/// The span stays that of the first: they lie beside each other.
void add_counters(const CpuCounters& more, CpuCounters& sum) {
  add_count(more.task_clock, sum.task_clock);
  add_count(more.context_switches, sum.context_switches);
  add_count(more.migrations, sum.migrations);
  add_count(more.minor_faults, sum.minor_faults);
  add_count(more.major_faults, sum.major_faults);
  add_count(more.cycles, sum.cycles);
  add_count(more.instructions, sum.instructions);
  add_count(more.llc_misses, sum.llc_misses);
  if (!sum.hardware_running) return;
  const bool less = !more.hardware_running || *more.hardware_running < *sum.hardware_running;
  if (less) sum.hardware_running = more.hardware_running;
}

}  // namespace

Cpu cpu_of(const std::vector<Launch>& launches, std::size_t nodes) {
  Cpu cpu;
  Tallies tallies;
  std::string absent;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const RunData& run = *launches[i].run;
    if (!run.cpu) continue;
    if (!cpu.source.empty() && i < nodes) add_counters(counters_of(run), cpu.counters);
    if (cpu.source.empty()) {
      cpu.source = "perf_event_open";
      cpu.sampled_hz = run.cpu->hz;
      cpu.kernel = run.cpu->kernel;
      cpu.counters = counters_of(run);
    }
    cpu.lost += static_cast<std::int64_t>(run.cpu->lost);
    if (!run.cpu->absent.empty()) absent = run.cpu->absent;
    count_launch(run, tallies);
  }
  if (cpu.source.empty()) return cpu;
  if (!tallies.processes.empty()) absent.clear();  // of one node among several
  fill_functions(tallies.makers, absent, "the making of batches from memory or as found", cpu.worker_samples,
                 cpu.workers);
  fill_functions(tallies.main, absent, "the training process", cpu.main_samples, cpu.main);
  fill_processes(tallies, cpu.processes);
  return cpu;
}

}  // namespace stallcast::sections
