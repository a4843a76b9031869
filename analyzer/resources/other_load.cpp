/// Who else used the cores while the job ran as found.
#include "analyzer/resources/other_load.hpp"

#include <algorithm>
#include <cstdint>
#include <set>

#include "analyzer/load/tick_span.hpp"
#include "analyzer/resources/constants.hpp"
#include "analyzer/steps/rank_view.hpp"

namespace stallcast::sections {
namespace {

/// Mean over the ticks of one machine in which the job delivered batches as found.
Measured<double> other_cpus_of(const RunData& run) {
  std::uint64_t found_until_ns = UINT64_MAX;
  for (const Consumer& consumer : run.consumers) found_until_ns = std::min(found_until_ns, consumer.phases_begin_ns);
  const Tick* first = nullptr;
  const Tick* last = nullptr;
  for (const Tick& tick : run.log.ticks) {
    const bool known = tick.machine_cpus > 0 && tick.machine_idle_ns >= 0 && tick.tree_cpu_ns >= 0;
    if (tick.t_ns > found_until_ns || !known || delivered_at(tick) <= 0.0) continue;
    if (first == nullptr) first = &tick;
    last = &tick;
  }
  if (first == nullptr) return Measured<double>::absent("what the machine's CPUs did was not recorded");
  const double seconds = static_cast<double>(last->t_ns - first->t_ns) * 1e-9;
  if (seconds < k_least_s_for_others) return Measured<double>::absent("the job ran as found for too short a time");
  const auto grown = [&](std::int64_t Tick::*member) {
    return static_cast<double>(last->*member - first->*member) * 1e-9;
  };
  const double ours = grown(&Tick::tree_cpu_ns) + grown(&Tick::tool_cpu_ns);
  const double busy = static_cast<double>(first->machine_cpus) * seconds - grown(&Tick::machine_idle_ns);
  return std::max(0.0, (busy - ours) / seconds);
}

}  // namespace

Measured<double> other_cpus(Nodes nodes) {
  std::set<std::size_t> machines;
  double sum = 0.0;
  for (const Launch& node : nodes) {
    if (!machines.insert(node.run->machine).second) {
      return Measured<double>::absent("several recordings of one machine each see the others' processes");
    }
    const auto here = other_cpus_of(*node.run);
    if (!here) return here;
    sum += *here;
  }
  return sum / static_cast<double>(nodes.size());
}

}  // namespace stallcast::sections
