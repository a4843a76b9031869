/// What a step and a sample are made of.
#include "analyzer/resources/resources.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "analyzer/load/received.hpp"
#include "analyzer/load/tick_span.hpp"
#include "analyzer/profile/loader_terms.hpp"
#include "analyzer/reads/from_storage.hpp"
#include "analyzer/reads/network.hpp"
#include "analyzer/resources/constants.hpp"
#include "analyzer/resources/other_load.hpp"
#include "analyzer/statistics/statistics.hpp"
#include "analyzer/steps/distributions.hpp"
#include "analyzer/steps/rank_view.hpp"

namespace stallcast::sections {
namespace {

constexpr const char* k_no_making = "too few batches with a record of their making";
constexpr const char* k_made_elsewhere =
    "batches are made by processes of the loader's own, and their making is not recorded";
constexpr const char* k_samples_unknown = "how many samples a batch holds is not known";

/// Batches of the steps, by how far they came towards a mean per sample.
struct SeenBatches {
  std::size_t made = 0;     ///< with a record of their making
  std::size_t counted = 0;  ///< of them, with their number of samples

  /// `told`: those of them that have the value; `untold`: why a batch may have none.
  [[nodiscard]] std::string why_absent(std::size_t told, const char* untold) const {
    if (made < k_fewest_demands) return k_no_making;
    if (counted < k_fewest_demands) return k_samples_unknown;
    return told == 0 ? untold : k_no_making;
  }
};

/// A numerator per step over the samples of its batch, with an interval; absent where a step lacks its making.
template <class Q, class Value>
MeasuredEstimate<Q> per_sample_by_node(const std::vector<RankView>& ranks, Value value, const char* reason) {
  SeenBatches seen;
  std::vector<double> top;
  std::vector<double> bottom;
  for (const RankView& rank : ranks) {
    for (const SteadyStep& step : rank.window.steps) {
      if (!step.delivery->made_known) continue;
      ++seen.made;
      if (step.samples <= 0.0) continue;
      ++seen.counted;
      const double amount = value(step.delivery->made, rank.node);
      if (amount < 0.0) continue;
      top.push_back(amount);
      bottom.push_back(step.samples);
    }
  }
  if (top.size() < k_fewest_demands) {
    const LoaderFacts& loader = ranks.front().window.loader;
    const bool elsewhere = seen.made == 0 && loader.composition == "unknown" && terms_of(loader.kind) != nullptr;
    return MeasuredEstimate<Q>::absent(elsewhere ? k_made_elsewhere : seen.why_absent(top.size(), reason));
  }
  const Estimate<double> ratio = ratio_of_sums(top, bottom);
  return Estimate<Q>{Q(ratio.mean), Q(ratio.ci95_low), Q(ratio.ci95_high), ratio.n};
}

template <class Q, class Value>
MeasuredEstimate<Q> per_sample(const std::vector<RankView>& ranks, Value value, const char* reason) {
  return per_sample_by_node<Q>(
      ranks, [&](const record::BatchRecord& made, std::size_t) { return value(made); }, reason);
}

template <class Value>
MeasuredEstimate<Seconds> per_step(const std::vector<RankView>& ranks, double batches_per_step, Value value) {
  std::vector<double> top;
  for (const RankView& rank : ranks) {
    for (const SteadyStep& step : rank.window.steps) top.push_back(value(step) * batches_per_step);
  }
  const std::vector<double> ones(top.size(), 1.0);
  const Estimate<double> mean = ratio_of_sums(top, ones);
  return Estimate<Seconds>{Seconds(mean.mean), Seconds(std::max(0.0, mean.ci95_low)), Seconds(mean.ci95_high), mean.n};
}

void fill_sample_costs(const std::vector<RankView>& ranks, const std::vector<ReplayMachine>& machines, Resources& out) {
  using record::BatchRecord;
  const auto seconds = [](std::uint64_t ns) { return static_cast<double>(ns) * 1e-9; };
  out.worker_wall = per_sample<SecondsPerSample>(
      ranks, [&](const BatchRecord& b) { return seconds(handed_over_ns(b) - b.begin_ns); }, k_no_making);
  out.worker_cpu = per_sample<SecondsPerSample>(
      ranks, [&](const BatchRecord& b) { return seconds(b.cpu_ns); }, k_no_making);
  out.worker_run_delay = per_sample<SecondsPerSample>(
      ranks, [&](const BatchRecord& b) { return b.run_delay_ns == UINT64_MAX ? -1.0 : seconds(b.run_delay_ns); },
      "the scheduler's statistics (/proc/PID/schedstat) could not be read");
  // Page faults that are reads are no part of what the interposer saw.
  const auto reading = [&](const BatchRecord& b, std::size_t node) {
    const double faults = machines[node].faults_are_reads ? storage_seconds(b, machines[node]) : 0.0;
    return std::max(faults, seconds(b.io.read_ns + b.io.meta_ns));
  };
  out.read = per_sample_by_node<SecondsPerSample>(ranks, reading, k_no_making);
  out.read_from_memory = per_sample_by_node<SecondsPerSample>(
      ranks,
      [&](const BatchRecord& b, std::size_t node) { return reading(b, node) - storage_seconds(b, machines[node]); },
      k_no_making);
  out.collate = per_sample<SecondsPerSample>(
      ranks, [&](const BatchRecord& b) { return seconds(b.collate_ns); }, k_no_making);
  out.handover = per_sample<SecondsPerSample>(
      ranks, [&](const BatchRecord& b) { return b.put_ns > b.end_ns ? seconds(b.put_ns - b.end_ns) : -1.0; },
      "batches are made by the consuming process itself");
}

double batches_per_step(const std::vector<RankView>& ranks) {
  const double steps = ranks.front().window.optimizer_steps_per_batch;
  return steps > 0.0 ? std::max(1.0, std::round(1.0 / steps)) : 1.0;
}

/// CPU seconds of the whole process tree per delivered sample, from one tick to the next.
MeasuredEstimate<SecondsPerSample> tree_cpu(Nodes nodes) {
  std::vector<double> cpu;
  std::vector<double> samples;
  for (const Launch& node : nodes) {
    const Tick* before = nullptr;
    for (const Tick& tick : node.run->log.ticks) {
      if (tick.tree_cpu_ns < 0) continue;
      if (before != nullptr && delivered_at(*before) > 0.0 && delivered_at(tick) > delivered_at(*before) &&
          tick.tree_cpu_ns >= before->tree_cpu_ns) {
        cpu.push_back(static_cast<double>(tick.tree_cpu_ns - before->tree_cpu_ns) * 1e-9);
        samples.push_back(delivered_at(tick) - delivered_at(*before));
      }
      before = &tick;
    }
  }
  if (cpu.size() < k_fewest_demands) {
    const bool counted =
        std::any_of(nodes.begin(), nodes.end(), [](const Launch& node) { return counts_samples(*node.run); });
    return MeasuredEstimate<SecondsPerSample>::absent(
        counted ? "the run was too short for CPU times of the process tree" : k_samples_unknown);
  }
  const Estimate<double> ratio = ratio_of_sums(cpu, samples);
  return Estimate<SecondsPerSample>{SecondsPerSample(ratio.mean), SecondsPerSample(ratio.ci95_low),
                                    SecondsPerSample(ratio.ci95_high), ratio.n};
}

MeasuredEstimate<SecondsPerSample> consumer_cpu(const std::vector<RankView>& ranks) {
  std::vector<double> cpu;
  std::vector<double> samples;
  for (const RankView& rank : ranks) {
    for (const SteadyStep& step : rank.window.steps) {
      if (step.consumer_cpu_s < 0.0 || step.samples <= 0.0) continue;
      cpu.push_back(step.consumer_cpu_s);
      samples.push_back(step.samples);
    }
  }
  if (cpu.size() < k_fewest_demands)
    return MeasuredEstimate<SecondsPerSample>::absent("the consumer's CPU clock was not recorded");
  const Estimate<double> ratio = ratio_of_sums(cpu, samples);
  return Estimate<SecondsPerSample>{SecondsPerSample(ratio.mean), SecondsPerSample(ratio.ci95_low),
                                    SecondsPerSample(ratio.ci95_high), ratio.n};
}

Measured<BytesPerSecond> storage_bandwidth(const Launch& node) {
  const TickSpan span = delivering_span(*node.run);
  if (!span.known()) return Measured<BytesPerSecond>::absent(why_no_span(*node.run));
  const auto share = storage_share(*node.run, node.ranks);
  const bool emulated = storage_is_emulated(*node.run) && share;
  const double received = received_per_sample(node.ranks) * span.samples;
  const double bytes = emulated ? *share * read_per_sample(node.ranks) * span.samples : span.storage_bytes() + received;
  return BytesPerSecond(bytes / (static_cast<double>(span.last->t_ns - span.first->t_ns) * 1e-9));
}

/// Which node is meant, where there are several.
std::string at_node(Nodes nodes, const Launch& node) {
  return nodes.size() > 1 ? node.run->name + ": " : std::string();
}

/// Of all nodes together; one whose counts are missing leaves the sum unknown.
Measured<BytesPerSecond> whole_bandwidth(Nodes nodes) {
  double sum = 0.0;
  for (const Launch& node : nodes) {
    const auto here = storage_bandwidth(node);
    if (!here) return Measured<BytesPerSecond>::absent(at_node(nodes, node) + here.reason());
    sum += here->value();
  }
  return BytesPerSecond(sum);
}

/// Likewise, by what each node's ranks read.
Measured<Fraction> whole_storage_share(Nodes nodes) {
  if (nodes.size() == 1) return storage_share(*nodes.front().run, nodes.front().ranks);
  double from_storage = 0.0;
  double read = 0.0;
  for (const Launch& node : nodes) {
    const auto share = storage_share(*node.run, node.ranks);
    if (!share) return Measured<Fraction>::absent(at_node(nodes, node) + share.reason());
    const double here = read_per_sample(node.ranks) * delivering_span(*node.run).samples;
    from_storage += here * *share;
    read += here;
  }
  return from_storage / read;
}

/// Most bytes at once; -1 where they could not be read.
struct MemoryUse {
  std::int64_t anonymous = -1;
  std::int64_t worker = -1;  ///< of one worker
};

MemoryUse memory_use(const RunData& run) {
  MemoryUse most;
  for (const Tick& tick : run.log.ticks) {
    std::int64_t sum = 0;
    bool complete = !tick.processes.empty();
    for (const ProcessTick& process : tick.processes) {
      complete = complete && process.anon_bytes >= 0;
      sum += process.anon_bytes;
      const bool is_worker = std::any_of(tick.ranks.begin(), tick.ranks.end(),
                                         [&](const RankTick& rank) { return rank.pid == process.parent_pid; });
      if (is_worker) most.worker = std::max(most.worker, process.pss_bytes);
    }
    if (complete) most.anonymous = std::max(most.anonymous, sum);
  }
  return most;
}

/// `page_cache_available` is that of the machine that has least; several launches on one share it.
void fill_anonymous_memory(Nodes nodes, Resources& out) {
  std::map<std::size_t, double> used;  // by machine
  std::map<std::size_t, Bytes> limits;
  double sum = 0.0;
  for (const Launch& node : nodes) {
    const std::int64_t anonymous = memory_use(*node.run).anonymous;
    if (anonymous < 0) {
      const std::string reason = at_node(nodes, node) + "the memory of the job's processes could not be read";
      out.anonymous_memory = out.page_cache_available = Measured<Bytes>::absent(reason);
      return;
    }
    const Host host = node.run->log.host.value_or(Host{});
    limits[node.run->machine] = host.memory_limit.value_or(host.memory);
    used[node.run->machine] += static_cast<double>(anonymous);
    sum += static_cast<double>(anonymous);
  }
  double least = limits.begin()->second.value();
  for (const auto& [machine, limit] : limits) least = std::min(least, std::max(0.0, limit.value() - used[machine]));
  out.anonymous_memory = Bytes(sum);
  out.page_cache_available = Bytes(least);
}

void fill_memory(Nodes nodes, Resources& out) {
  std::int64_t worker = -1;
  for (const Launch& node : nodes) worker = std::max(worker, memory_use(*node.run).worker);
  if (worker >= 0) {
    out.worker_memory = Bytes(static_cast<double>(worker));
  } else {
    out.worker_memory = Measured<Bytes>::absent("no worker process was seen, or its memory could not be read");
  }
  fill_anonymous_memory(nodes, out);
}

}  // namespace

Resources resources_of(Nodes nodes, const std::vector<RankView>& ranks, const std::vector<ReplayMachine>& machines) {
  Resources out;
  const double batches = batches_per_step(ranks);
  out.step = per_step(ranks, batches, [](const SteadyStep& step) { return step.step_s(); });
  out.compute = per_step(ranks, batches, [](const SteadyStep& step) { return step.compute_s; });
  out.wait = per_step(ranks, batches, [](const SteadyStep& step) { return step.wait_s; });
  fill_sample_costs(ranks, machines, out);
  out.tree_cpu = tree_cpu(nodes);
  out.consumer_cpu = consumer_cpu(ranks);
  out.consumer_cpu_cached = MeasuredEstimate<SecondsPerSample>::absent("no cached blocks were run");
  out.worker_cpu_cached = MeasuredEstimate<SecondsPerSample>::absent("no cached blocks were run");
  out.worker_cpu_cold = MeasuredEstimate<SecondsPerSample>::absent("no cold blocks were run");
  out.worker_wall_cached = MeasuredEstimate<SecondsPerSample>::absent("no cached blocks were run");
  out.worker_wall_cold = MeasuredEstimate<SecondsPerSample>::absent("no cold blocks were run");
  out.step_cpu = MeasuredEstimate<SecondsPerSample>::absent("no synthetic blocks were run");
  out.job_cpus = job_cpus(nodes);
  out.other_cpus = other_cpus(nodes);
  out.bytes_from_storage = whole_storage_share(nodes);
  out.storage_bandwidth = whole_bandwidth(nodes);
  fill_memory(nodes, out);
  out.distributions = distributions_of(nodes, ranks);
  return out;
}

}  // namespace stallcast::sections
