#include "analyzer/stalls/attribution.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "analyzer/stalls/constants.hpp"
#include "simulation/loader.hpp"

namespace stallcast {
namespace {

using simulation::BatchWork;
using simulation::LoaderSetup;
using simulation::StepWork;

/// The measured sequence, as the simulation takes it.
struct Trace {
  std::vector<BatchWork> work{};
  std::vector<double> storage_cpu_s{};  ///< of each batch's cpu_s: what the kernel computes for reads from storage
  std::vector<StepWork> steps{};        ///< of each batch: taking it over, and the step that follows
  std::vector<double> receive_s{};      ///< of each of these: taking it over
};

/// Waiting for a batch that was made: queues, pipes and shared memory on its way.
double receiving_s(const SteadyStep& step) {
  return std::max(0.0, step.wait_s - seconds_until_made(*step.delivery));
}

/// Whether a batch was made before the script asked for it.
bool lay_ready(const SteadyStep& step) {
  const Delivery& delivery = *step.delivery;
  return delivery.made_known && delivery.made.put_ns != 0 && delivery.made.put_ns <= delivery.wait.begin_ns;
}

/// Of receiving a batch, the most that the consumer does itself. What is on its way while the consumer computes (a
/// thread that pins memory, one that puts tensors into a pipe) is waited for by who is starved, and not by who finds a
/// batch ready: batches that lay ready tell it, and without any of them only a loader that has no such thread is
/// believed.
double most_receiving_s(const SteadyWindow& window) {
  double sum = 0.0;
  std::size_t ready = 0;
  for (const SteadyStep& step : window.steps) {
    if (!lay_ready(step)) continue;
    sum += receiving_s(step);
    ++ready;
  }
  if (ready >= k_fewest_ready) return k_late_receiving * sum / static_cast<double>(ready);
  const bool pins = window.loader.pins_memory < 0 ? window.loader.pin_memory == 1 : window.loader.pins_memory == 1;
  return pins ? 0.0 : std::numeric_limits<double>::infinity();
}

/// How the making of a batch divides.
struct Making {
  BatchWork work{};
  double storage_cpu_s = 0.0;  ///< as in Trace
};

/// `foreign`: share of the waiting for a core that was others' doing. The rest is not part of the trace: the replay
/// lets the workers wait for each other's cores itself.
///
/// Worked example. Making took 139 ms: 125 computing, 8 waiting for a core, 6 blocked. Storage added 15 ms. Blocked
/// first, the other 9 ms of it were computing and waiting for a core as 125 to 8: 8.5 and 0.5. So 6.5 ms of waiting
/// for reads and 125 of computing, of which 8.5 go if the data is in memory.
Making making_of(const record::BatchRecord& made, const ReplayMachine& machine, double foreign) {
  const double handed_over =
      made.put_ns > made.end_ns ? static_cast<double>(made.put_ns) : static_cast<double>(made.end_ns);
  const double wall = std::max(0.0, (handed_over - static_cast<double>(made.begin_ns)) * 1e-9);
  const double delay = made.run_delay_ns == UINT64_MAX ? 0.0 : static_cast<double>(made.run_delay_ns) * 1e-9;
  const double cpu = std::min(static_cast<double>(made.cpu_ns) * 1e-9, wall);
  const double blocked = std::max(0.0, wall - cpu - delay);
  const double storage = std::min(storage_seconds(made, machine), wall);
  const double not_blocked = std::max(0.0, storage - blocked);
  Making making;
  making.storage_cpu_s = cpu > 0.0 ? std::min(cpu, not_blocked * cpu / (cpu + delay)) : 0.0;
  const double delay_in_reads = std::min(delay, not_blocked - making.storage_cpu_s);
  making.work.read_s = storage - making.storage_cpu_s;
  making.work.cpu_s = cpu;
  making.work.other_s = std::max(0.0, wall - making.work.read_s - cpu - (1.0 - foreign) * (delay - delay_in_reads));
  return making;
}

StepWork step_of(const SteadyStep& step, const ReplayMachine& machine, double foreign) {
  double cpu = std::max(0.0, step.consumer_cpu_s);
  const bool made_here = step.delivery->made_known && step.delivery->made.header.aux == UINT32_MAX;
  if (made_here) cpu = std::max(0.0, cpu - static_cast<double>(step.delivery->made.cpu_ns) * 1e-9);
  StepWork work;
  work.cpu_s = std::min(step.compute_s, cpu);
  const double delay = std::min(step.compute_s - work.cpu_s, machine.consumer_run_delay_share * step.step_s());
  work.device_s = step.compute_s - work.cpu_s - (1.0 - foreign) * delay;
  return work;
}

Trace trace_of(const SteadyWindow& window, const ReplayMachine& machine, double foreign) {
  Trace trace;
  const double most = most_receiving_s(window);
  for (std::size_t i = 0; i < window.steps.size(); ++i) {
    const SteadyStep& step = window.steps[i];
    if (!step.delivery->made_known) continue;
    const Making making = making_of(step.delivery->made, machine, foreign);
    trace.work.push_back(making.work);
    trace.storage_cpu_s.push_back(making.storage_cpu_s);
    // The step that follows the delivery of batch i is the compute part of the next one.
    trace.steps.push_back(step_of(window.steps[std::min(i + 1, window.steps.size() - 1)], machine, foreign));
    trace.receive_s.push_back(lay_ready(step) ? receiving_s(step) : std::min(most, receiving_s(step)));
    trace.steps.back().device_s += trace.receive_s.back();
  }
  const std::size_t measured = trace.work.size();
  for (std::size_t i = 0; measured > 0 && trace.work.size() < k_replayed_batches; ++i) {
    trace.work.push_back(trace.work[i]);
    trace.storage_cpu_s.push_back(trace.storage_cpu_s[i]);
    trace.steps.push_back(trace.steps[i]);
    trace.receive_s.push_back(trace.receive_s[i]);
  }
  return trace;
}

LoaderSetup setup_of(const LoaderFacts& loader) {
  LoaderSetup setup;
  setup.workers = static_cast<int>(std::max<std::int64_t>(loader.num_workers, 0));
  if (loader.prefetch_factor > 0) setup.prefetch_factor = static_cast<int>(loader.prefetch_factor);
  setup.in_order = loader.in_order != 0;
  return setup;
}

/// Mean time from delivery to delivery, the queue's start-up and the draining end left out.
double replay(const LoaderSetup& setup, double cores, const Trace& trace) {
  const auto run = simulation::run_loader_shared(setup, {cores, false}, trace.work, trace.steps);
  const std::size_t n = run.delivered_s.size();
  const auto in_flight = static_cast<std::size_t>(setup.workers * setup.prefetch_factor);
  const std::size_t trim = std::min(in_flight + 2, n / 4);
  const std::size_t last = n - 1 - trim;
  return (run.delivered_s[last] - run.delivered_s[trim]) / static_cast<double>(last - trim);
}

Trace without_storage(Trace trace) {
  for (std::size_t i = 0; i < trace.work.size(); ++i) {
    trace.work[i].read_s = 0.0;
    trace.work[i].cpu_s -= trace.storage_cpu_s[i];
  }
  return trace;
}

Trace without_consumer(Trace trace) {
  std::fill(trace.steps.begin(), trace.steps.end(), StepWork{});
  return trace;
}

/// Of steps whose batch is there.
double mean_step(const Trace& trace) {
  double sum = 0.0;
  for (std::size_t i = 0; i < trace.steps.size(); ++i)
    sum += trace.steps[i].device_s + trace.steps[i].cpu_s - trace.receive_s[i];
  return sum / static_cast<double>(trace.steps.size());
}

/// Mean step where makings are known, give or take one turn of the workers: the job may be another one elsewhere (a
/// second epoch finds its files in memory), while within a turn long and short steps alternate.
double mean_step_near_known(const SteadyWindow& window) {
  const std::vector<SteadyStep>& steps = window.steps;
  const auto turn =
      static_cast<std::size_t>(std::clamp<std::int64_t>(window.loader.num_workers, 1, k_most_workers_of_turn));
  std::vector<bool> near(steps.size(), false);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!steps[i].delivery->made_known) continue;
    const std::size_t from = i > turn ? i - turn : 0;
    for (std::size_t j = from; j < std::min(i + turn + 1, steps.size()); ++j) near[j] = true;
  }
  double sum = 0.0;
  double count = 0.0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!near[i]) continue;
    sum += steps[i].step_s();
    count += 1.0;
  }
  return sum / count;
}

/// What other processes of the machine did to the job's: what its own do to each other's cores the replay knows.
struct ForeignLoad {
  double share = 0.0;      ///< of the waiting for cores
  double without_s = 0.0;  ///< the step replayed with nothing of it
};

/// The share that the replay needs to be given to take as long as the job did.
ForeignLoad foreign_load(const SteadyWindow& window, const ReplayMachine& machine, const LoaderSetup& setup,
                         double step_s) {
  const auto replayed = [&](double share) { return replay(setup, machine.cores, trace_of(window, machine, share)); };
  const double none = replayed(0.0);
  const double all = replayed(1.0);
  if (none >= (1.0 - k_same_step) * step_s || all <= none) return {0.0, none};
  if (all <= step_s) return {1.0, none};
  double low = 0.0;
  double high = 1.0;
  for (int i = 0; i < k_foreign_load_bisections; ++i) {
    const double middle = (low + high) / 2.0;
    (replayed(middle) < step_s ? low : high) = middle;
  }
  return {(low + high) / 2.0, none};
}

/// What page faults from storage took: being blocked, the kernel's computing, and of the waiting for a core (after each
/// fault, mostly) the share that these two have of the rest.
double fault_seconds(const record::BatchRecord& made, double blocked, double delay, const ReplayMachine& machine) {
  if (made.io.major_faults == 0) return 0.0;
  const double cpu = static_cast<double>(made.cpu_ns) * 1e-9;
  const double own = std::max(0.0, blocked - machine.blocked_without_faults_s) + machine.fault_cpu_share * cpu;
  return blocked + cpu > 0.0 ? own * (1.0 + delay / (blocked + cpu)) : 0.0;
}

}  // namespace

double storage_seconds(const record::BatchRecord& made, const ReplayMachine& machine) {
  const double seen = static_cast<double>(made.io.read_ns + made.io.meta_ns) * 1e-9;
  const double calls = static_cast<double>(made.io.reads) + made.io.opens + made.io.stats;
  const double resident =
      calls * machine.read_seconds_per_call + static_cast<double>(made.io.read_bytes) * machine.read_seconds_per_byte;
  const double delay = made.run_delay_ns == UINT64_MAX ? 0.0 : static_cast<double>(made.run_delay_ns) * 1e-9;
  const double wall = made.end_ns > made.begin_ns ? static_cast<double>(made.end_ns - made.begin_ns) * 1e-9 : 0.0;
  const double blocked = std::max(0.0, wall - static_cast<double>(made.cpu_ns) * 1e-9 - delay);
  const double beyond = std::max(0.0, seen - resident);
  const double faults = machine.faults_are_reads ? fault_seconds(made, blocked, delay, machine) : 0.0;
  return std::max(faults, std::min(beyond, blocked + machine.storage_share * beyond));
}

std::optional<Attribution> attribute(const SteadyWindow& window, const ReplayMachine& machine) {
  const auto known = static_cast<std::size_t>(std::count_if(
      window.steps.begin(), window.steps.end(), [](const SteadyStep& step) { return step.delivery->made_known; }));
  if (known < k_fewest_known_makings ||
      static_cast<double>(known) < k_least_known_makings * static_cast<double>(window.steps.size())) {
    return std::nullopt;
  }
  const LoaderSetup setup = setup_of(window.loader);
  Attribution result;
  result.step_s = mean_step_near_known(window);
  const ForeignLoad foreign = foreign_load(window, machine, setup, result.step_s);
  result.foreign_delay_share = foreign.share;
  const Trace trace = trace_of(window, machine, result.foreign_delay_share);
  for (const SteadyStep& step : window.steps) {
    if (!step.delivery->made_known) continue;
    const record::BatchRecord& made = step.delivery->made;
    if (made.run_delay_ns != UINT64_MAX) {
      const double delay = static_cast<double>(made.run_delay_ns) * 1e-9;
      result.foreign_delay_s += result.foreign_delay_share * delay / static_cast<double>(known);
    }
    result.storage_read_s += storage_seconds(made, machine) / static_cast<double>(known);
    result.receive_s += receiving_s(step) / static_cast<double>(known);
  }
  const double as_found = replay(setup, machine.cores, trace);
  if (!(as_found > 0.0) || !(result.step_s > 0.0)) return std::nullopt;  // times that nothing can have taken
  const double scale = result.step_s / as_found;
  result.replay_error = std::abs(as_found / result.step_s - 1.0);
  if (result.foreign_delay_share > 0.0) {
    result.explained_error = std::max(0.0, 1.0 - foreign.without_s / result.step_s - result.replay_error);
  }
  result.cached_step_s = std::min(result.step_s, scale * replay(setup, machine.cores, without_storage(trace)));
  result.synthetic_step_s = std::min(result.cached_step_s, mean_step(trace));
  result.supply_step_s = replay(setup, machine.cores, without_consumer(trace));
  result.supply_cached_step_s = replay(setup, machine.cores, without_consumer(without_storage(trace)));
  return result;
}

}  // namespace stallcast
