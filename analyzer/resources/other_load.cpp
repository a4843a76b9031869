/// Who used the cores while the job ran as found.
#include "analyzer/resources/other_load.hpp"

#include <algorithm>
#include <cstdint>
#include <set>

#include "analyzer/load/tick_span.hpp"
#include "analyzer/resources/constants.hpp"
#include "analyzer/steps/rank_view.hpp"

namespace stallcast::sections {
namespace {

/// The first and the last tick in which the job delivered batches as found.
struct FoundTicks {
  const Tick* first = nullptr;
  const Tick* last = nullptr;

  [[nodiscard]] double seconds() const { return static_cast<double>(last->t_ns - first->t_ns) * 1e-9; }
  [[nodiscard]] double grown(std::int64_t Tick::*member) const {
    return static_cast<double>(last->*member - first->*member) * 1e-9;
  }
};

/// Of those that `is_known` takes; absent where they are none, or of too short a time.
template <class IsKnown>
Measured<FoundTicks> found_ticks(const RunData& run, const char* no_ticks, IsKnown is_known) {
  std::uint64_t found_until_ns = UINT64_MAX;
  for (const Consumer& consumer : run.consumers) found_until_ns = std::min(found_until_ns, consumer.phases_begin_ns);
  FoundTicks found;
  for (const Tick& tick : run.log.ticks) {
    if (tick.t_ns > found_until_ns || !is_known(tick) || delivered_at(tick) <= 0.0) continue;
    if (found.first == nullptr) found.first = &tick;
    found.last = &tick;
  }
  if (found.first == nullptr) return Measured<FoundTicks>::absent(no_ticks);
  if (found.seconds() < k_least_s_for_others)
    return Measured<FoundTicks>::absent("the job ran as found for too short a time");
  return found;
}

Measured<double> other_cpus_of(const RunData& run) {
  const auto found = found_ticks(run, "what the machine's CPUs did was not recorded", [](const Tick& tick) {
    return tick.machine_cpus > 0 && tick.machine_idle_ns >= 0 && tick.tree_cpu_ns >= 0;
  });
  if (!found) return Measured<double>::absent(found.reason());
  const double ours = found->grown(&Tick::tree_cpu_ns) + found->grown(&Tick::tool_cpu_ns);
  const double busy =
      static_cast<double>(found->first->machine_cpus) * found->seconds() - found->grown(&Tick::machine_idle_ns);
  return std::max(0.0, (busy - ours) / found->seconds());
}

}  // namespace

Measured<double> job_cpus(Nodes nodes) {
  double sum = 0.0;
  for (const Launch& node : nodes) {
    const auto found = found_ticks(*node.run, "the CPU times of the job's processes were not recorded",
                                   [](const Tick& tick) { return tick.tree_cpu_ns >= 0; });
    if (!found) return Measured<double>::absent(found.reason());
    sum += found->grown(&Tick::tree_cpu_ns) / found->seconds();
  }
  return sum;
}

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
