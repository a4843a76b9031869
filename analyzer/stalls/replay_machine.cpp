#include "analyzer/stalls/replay_machine.hpp"

#include <algorithm>

#include "analyzer/reads/from_storage.hpp"
#include "analyzer/reads/unseen.hpp"
#include "analyzer/stalls/constants.hpp"

namespace stallcast::sections {

ReplayMachine replay_machine(const RunData& run, const std::vector<RankView>& all, std::size_t ranks) {
  const RankView& rank = all.front();
  ReplayMachine machine;
  machine.storage_share = storage_share(run, all).value_or(0.0);
  machine.unseen = unseen_reading(run, all);
  if (const auto faults = reading_by_faults(run, all)) {
    machine.faults_are_reads = true;
    machine.blocked_without_faults_s = faults->blocked_without_s;
    machine.fault_cpu_share = faults->cpu_share;
  }
  if (run.log.host && run.log.host->usable_cpus > 0.0) {
    machine.cores = run.log.host->usable_cpus / static_cast<double>(std::max<std::size_t>(ranks, 1));
  } else {
    machine.cores = k_cores_if_unknown;
  }
  if (run.log.resident_read) {
    machine.read_seconds_per_call = run.log.resident_read->seconds_per_call;
    machine.read_seconds_per_byte = run.log.resident_read->seconds_per_byte;
  }
  const ProcessTick* first = nullptr;
  std::uint64_t first_ns = 0;
  for (const Tick& tick : run.log.ticks) {
    for (const ProcessTick& process : tick.processes) {
      if (process.pid != rank.consumer->pid || process.run_delay_ns < 0) continue;
      if (first == nullptr) {
        first = &process;
        first_ns = tick.t_ns;
      } else if (tick.t_ns > first_ns) {
        machine.consumer_run_delay_share = std::clamp(
            static_cast<double>(process.run_delay_ns - first->run_delay_ns) / static_cast<double>(tick.t_ns - first_ns),
            0.0, 1.0);
      }
    }
  }
  return machine;
}

}  // namespace stallcast::sections
