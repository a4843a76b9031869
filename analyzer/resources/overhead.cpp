/// The cost of the measurement, from this run's own on/off stretches.
#include "analyzer/resources/overhead.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "analyzer/blocks/blocks.hpp"
#include "analyzer/load/marks.hpp"
#include "analyzer/resources/constants.hpp"
#include "analyzer/statistics/statistics.hpp"
#include "analyzer/steps/rank_view.hpp"

namespace stallcast::sections {
namespace {

/// What the job did from one tick to a later one.
struct Switched {
  double samples = 0.0;
  double seconds = 0.0;
  double cpu_s = -1.0;  ///< negative where CPU times are not known

  void add(const Switched& other) {
    samples += other.samples;
    seconds += other.seconds;
    cpu_s = cpu_s < 0.0 || other.cpu_s < 0.0 ? -1.0 : cpu_s + other.cpu_s;
  }
};

/// A stretch without recording, and the one before and the one after it: a rate that drifts drops out of their ratio.
struct Group {
  Switched on{};
  Switched off{};
};

double delivered(const Tick& tick) {
  double sum = 0.0;
  for (const RankTick& rank : tick.ranks) sum += static_cast<double>(rank.samples > 0 ? rank.samples : rank.batches);
  return sum;
}

/// With one rank the time of the last delivery is exact; with several their ends differ and the tick's own time serves.
double time_s(const Tick& tick) {
  if (tick.ranks.size() == 1) return static_cast<double>(tick.ranks.front().delivered_ns) * 1e-9;
  return static_cast<double>(tick.t_ns) * 1e-9;
}

/// Empty where the job did not deliver, or had not for so long that the time of a pause (evaluation, a checkpoint)
/// would count: from tick `i` to the next.
std::optional<Switched> stretch_from(const std::vector<Tick>& ticks, std::size_t i) {
  const Tick& a = ticks[i];
  const Tick& b = ticks[i + 1];
  const bool delivering = i == 0 ? delivered(a) > 0.0 : delivered(a) > delivered(ticks[i - 1]);
  const Switched stretch{delivered(b) - delivered(a), time_s(b) - time_s(a),
                         a.tree_cpu_ns >= 0 && b.tree_cpu_ns > a.tree_cpu_ns
                             ? static_cast<double>(b.tree_cpu_ns - a.tree_cpu_ns) * 1e-9
                             : -1.0};
  if (!delivering || stretch.samples <= 0.0 || stretch.seconds <= 0.0) return std::nullopt;
  return stretch;
}

/// The group around the ticks [first, last) without recording; empty if any of its stretches is.
std::optional<Group> group_around(const std::vector<Tick>& ticks, std::size_t first, std::size_t last) {
  if (first == 0 || last + 1 >= ticks.size()) return std::nullopt;
  const auto before = stretch_from(ticks, first - 1);
  const auto after = stretch_from(ticks, last);
  if (!before || !after) return std::nullopt;
  Group group{*before, {0.0, 0.0, 0.0}};
  group.on.add(*after);
  for (std::size_t i = first; i < last; ++i) {
    const auto off = stretch_from(ticks, i);
    if (!off) return std::nullopt;
    group.off.add(*off);
  }
  return group;
}

/// Ticks lie on the edges of the tool's schedule (on off off on, later single stretches off), one stretch apart around
/// every switch.
std::vector<Group> groups_of(const std::vector<Tick>& ticks) {
  std::vector<Group> groups;
  std::size_t first = 0;
  while (first < ticks.size()) {
    std::size_t last = first;
    while (last < ticks.size() && !ticks[last].recording) ++last;
    if (last > first) {
      if (const auto group = group_around(ticks, first, last)) groups.push_back(*group);
    }
    first = last + 1;
  }
  return groups;
}

MeasuredEstimate<Fraction> pairs_estimate(const std::vector<double>& log_ratios) {
  if (log_ratios.size() < k_fewest_overhead_pairs) {
    return MeasuredEstimate<Fraction>::absent(
        "the run was too short to switch the recording off and on three times while batches were delivered");
  }
  const Estimate<double> mean = mean_of(log_ratios);
  return Estimate<Fraction>{std::expm1(mean.mean), std::expm1(mean.ci95_low), std::expm1(mean.ci95_high), mean.n};
}

/// What holding the script back cost it: sums over the ranks.
struct Holding {
  int ranks = 0;  ///< that had segments
  double held_s = 0.0;
  double batches = 0.0;
  double measuring_s = 0.0;  ///< longest of a rank
};

/// When the process was let go of for good, or its last batch was delivered.
std::uint64_t let_go_ns(const RunData& run, const Consumer& consumer) {
  for (const nlohmann::json& mark : marks_of(run, consumer, "let_go")) return natural(mark, "begin_ns");
  std::uint64_t last_ns = 0;
  for (const Pass& pass : consumer.passes) {
    for (const Delivery& delivery : pass.deliveries) last_ns = std::max(last_ns, delivery.wait.end_ns);
  }
  return last_ns;
}

void add_rank(const RunData& run, const Consumer& consumer, Holding& sum) {
  if (consumer.phases_begin_ns == UINT64_MAX) return;
  ++sum.ranks;
  for (const record::ProcessRecording& process : run.processes) {
    if (process.info.pid != consumer.pid || process.info.host != consumer.host) continue;
    for (const BurstRun& burst : bursts_of(process)) {
      if (burst.released_ns > burst.asked_ns) {
        sum.held_s += static_cast<double>(burst.released_ns - burst.asked_ns) * 1e-9;
      }
      sum.batches += static_cast<double>(burst.batches);
    }
  }
  for (const nlohmann::json& mark : marks_of(run, consumer, "answered")) {  // what comes next, to the tool
    const std::uint64_t begin_ns = natural(mark, "begin_ns");
    const std::uint64_t end_ns = natural(mark, "end_ns");
    if (end_ns > begin_ns) sum.held_s += static_cast<double>(end_ns - begin_ns) * 1e-9;
  }
  const std::uint64_t end_ns = let_go_ns(run, consumer);
  if (end_ns < consumer.phases_begin_ns) return;
  sum.measuring_s = std::max(sum.measuring_s, static_cast<double>(end_ns - consumer.phases_begin_ns) * 1e-9);
}

void fill_holding(Nodes nodes, Overhead& out) {
  Holding sum;
  for (const Launch& node : nodes) {
    for (const Consumer& consumer : node.run->consumers) add_rank(*node.run, consumer, sum);
  }
  if (sum.ranks == 0) {
    const char* passive = "the run was recorded as it went: no state was made, and nothing held back";
    out.held = out.measuring = Measured<Seconds>::absent(passive);
    out.burst_batches = Measured<std::int64_t>::absent(passive);
    return;
  }
  out.held = Seconds(sum.held_s / sum.ranks);
  out.measuring = Seconds(sum.measuring_s);
  out.burst_batches = static_cast<std::int64_t>(std::llround(sum.batches / sum.ranks));
}

}  // namespace

Overhead overhead_of(Nodes nodes) {
  Overhead out;
  std::vector<double> rate_loss;
  std::vector<double> cpu_extra;
  double bytes = 0.0;
  for (const Launch& node : nodes) {
    for (const Group& group : groups_of(node.run->log.ticks)) {
      const double samples = std::log(group.off.samples / group.on.samples);
      rate_loss.push_back(samples - std::log(group.off.seconds / group.on.seconds));
      if (group.on.cpu_s > 0.0 && group.off.cpu_s > 0.0) {
        cpu_extra.push_back(samples + std::log(group.on.cpu_s / group.off.cpu_s));
      }
    }
    for (const record::ProcessRecording& process : node.run->processes) {
      bytes += static_cast<double>(process.file_bytes);
      out.dropped_records += static_cast<std::int64_t>(process.info.dropped_records);
    }
  }
  if (nodes.size() == 1 || rate_loss.empty()) {
    out.throughput = pairs_estimate(rate_loss);
  } else {
    out.throughput = MeasuredEstimate<Fraction>::absent(
        "each node switched its recording at times of its own, and ranks in step wait for each other");
  }
  out.cpu = pairs_estimate(cpu_extra);
  out.recording = Bytes(bytes);
  fill_holding(nodes, out);
  return out;
}

}  // namespace stallcast::sections
