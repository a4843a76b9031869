#include "analyzer/load/machines.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "analyzer/load/constants.hpp"
#include "core/cpu_list.hpp"

namespace stallcast {
namespace {

std::string host_of(const RunData& run) {
  if (!run.processes.empty()) return run.processes.front().info.host;
  return run.log.host ? run.log.host->name : std::string();
}

/// CPUs that the processes of all these may run on, by the tools' readings; 0 where there are none.
double cpus_of_all(const std::vector<RunData*>& runs) {
  std::set<int> cpus;
  for (const RunData* run : runs) {
    std::set<std::string> lists;
    for (const Tick& tick : run->log.ticks) {
      for (const ProcessTick& process : tick.processes) lists.insert(process.cpus);
    }
    for (const std::string& list : lists) {
      const auto own = parse_cpu_list(list);
      if (own) cpus.insert(own->begin(), own->end());
    }
  }
  return static_cast<double>(cpus.size());
}

/// Worked example. Two tools on one machine, a rank each. Bound to cores 0-3 and 4-7 they have 4 cores each, as each
/// says. Both allowed on 0-3, or under one quota of 4, each says 4, and they have 2.
void share_cores(const std::vector<RunData*>& runs) {
  double most = 0.0;
  bool bound = true;
  std::size_t consumers = 0;
  for (const RunData* run : runs) {
    if (!run->log.host) return;
    most = std::max(most, run->log.host->usable_cpus);
    bound = bound && run->log.host->usable_cpus_limited_by == "affinity";
    consumers += run->consumers.size();
  }
  const double all = bound ? std::max(most, cpus_of_all(runs)) : most;
  for (RunData* run : runs) {
    const double share =
        static_cast<double>(run->consumers.size()) / static_cast<double>(std::max<std::size_t>(1, consumers));
    run->log.host->usable_cpus = std::min(run->log.host->usable_cpus, all * share);
  }
}

}  // namespace

std::optional<double> boot_s(const RunData& run) {
  const auto since = [](std::uint64_t real_ns, std::uint64_t monotonic_ns) {
    return (static_cast<double>(real_ns) - static_cast<double>(monotonic_ns)) * 1e-9;
  };
  if (run.log.start_realtime_ns != 0) return since(run.log.start_realtime_ns, run.log.start_monotonic_ns);
  if (run.processes.empty() || run.processes.front().info.start_realtime_ns == 0) return std::nullopt;
  const record::ProcessInfo& info = run.processes.front().info;
  return since(info.start_realtime_ns, info.start_monotonic_ns);
}

void number_machines(std::vector<RunData>& nodes) {
  std::size_t machines = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto same =
        std::find_if(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(i), [&](const RunData& run) {
          const auto a = boot_s(run);
          const auto b = boot_s(nodes[i]);
          return host_of(run) == host_of(nodes[i]) && (!a || !b || std::abs(*a - *b) < k_clock_was_set_s);
        });
    nodes[i].machine = same != nodes.begin() + static_cast<std::ptrdiff_t>(i) ? same->machine : machines++;
  }
}

void share_machines(std::vector<RunData>& nodes) {
  std::map<std::size_t, std::vector<RunData*>> machines;
  for (RunData& run : nodes) machines[run.machine].push_back(&run);
  for (const auto& [machine, runs] : machines) {
    if (runs.size() > 1) share_cores(runs);
  }
}

}  // namespace stallcast
