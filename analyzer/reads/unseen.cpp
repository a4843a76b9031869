/// Reading that no probe sees: of data in maps of files, and by programs that the loader starts, whose output comes
/// through pipes.
#include "analyzer/reads/unseen.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "analyzer/load/tick_span.hpp"
#include "analyzer/reads/constants.hpp"
#include "analyzer/reads/from_storage.hpp"
#include "analyzer/steps/rank_view.hpp"

namespace stallcast::sections {
namespace {

double mapped_bytes(const RunData& run) {
  double mapped = 0.0;
  for (const record::ProcessRecording& process : run.processes) {
    mapped += static_cast<double>(process.info.mapped_bytes);
  }
  return mapped;
}

std::set<std::int64_t> makers_of(const RunData& run) {
  std::set<std::int64_t> makers;
  for (const record::ProcessRecording& process : run.processes) {
    if (!process.batches.empty()) makers.insert(static_cast<std::int64_t>(process.info.pid));
  }
  return makers;
}

/// What came from storage for the makers of batches and for what they started and waited for (/proc/PID/io holds both).
struct Made {
  double bytes = 0.0;
  double later_bytes = 0.0;          ///< of them, in the second half of the time
  std::set<std::string> programs{};  ///< that the makers started
};

Made made_of(const RunData& run, const TickSpan& span) {
  const std::set<std::int64_t> makers = makers_of(run);
  const std::uint64_t half_ns = span.first->t_ns + (span.last->t_ns - span.first->t_ns) / 2;
  std::map<std::int64_t, std::int64_t> before;
  Made made;
  for (const Tick& tick : run.log.ticks) {
    if (tick.t_ns < span.first->t_ns || tick.t_ns > span.last->t_ns) continue;
    for (const ProcessTick& process : tick.processes) {
      const bool started = makers.contains(process.parent_pid) && !makers.contains(process.pid);
      if (started && !process.name.empty()) made.programs.insert(process.name);
      if (!makers.contains(process.pid) || process.read_bytes < 0) continue;
      const auto [known, is_new] = before.emplace(process.pid, process.read_bytes);
      const double more = is_new ? 0.0 : static_cast<double>(process.read_bytes - known->second);
      known->second = process.read_bytes;
      made.bytes += std::max(0.0, more);
      if (tick.t_ns > half_ns) made.later_bytes += std::max(0.0, more);
    }
  }
  return made;
}

/// Share of the making of batches that passed inside reads.
double reading_share(const std::vector<RankView>& ranks) {
  double reading_ns = 0.0;
  double making_ns = 0.0;
  for (const RankView& rank : ranks) {
    for (const SteadyStep& step : rank.window.steps) {
      if (!step.delivery->made_known) continue;
      reading_ns += static_cast<double>(step.delivery->made.io.read_ns);
      making_ns += static_cast<double>(step.delivery->made.end_ns - step.delivery->made.begin_ns);
    }
  }
  return making_ns > 0.0 ? reading_ns / making_ns : 1.0;
}

std::string listed(const std::set<std::string>& programs) {
  std::string names;
  for (const std::string& name : programs) names += (names.empty() ? "" : ", ") + name;
  return names.empty() ? names : " (" + names + ")";
}

std::string words_of(const std::set<std::string>& programs) {
  if (programs.empty()) return "the data come from storage by a way that is not seen (io_uring, direct system calls)";
  return "the data are read by programs that the loader starts" + listed(programs) + ", which is not seen";
}

/// Bytes that workers read from pipes and from sockets within the machine, per sample that they made. A process that
/// trains has pipes and sockets of other kinds.
double piped_per_sample(const RunData& run) {
  double bytes = 0.0;
  double samples = 0.0;
  for (const record::ProcessRecording& process : run.processes) {
    if (process.batches.empty() || !process.waits.empty()) continue;
    bytes += static_cast<double>(process.info.stream_read_bytes);
    for (const record::ReceivedRecord& received : process.received) bytes -= static_cast<double>(received.bytes);
    for (const record::BatchRecord& batch : process.batches) samples += batch.samples;
  }
  return samples > 0.0 ? bytes / samples : 0.0;
}

/// Where what samples are made of comes through pipes, nobody sees what is waited for behind them.
bool comes_through_pipes(const RunData& run, double read_per_sample) {
  const double piped = piped_per_sample(run);
  return piped >= static_cast<double>(record::k_hardly_read_bytes) && piped > read_per_sample;
}

/// A function that the training thread calls may wait for what others made, and not make it: then it is blocked, in
/// neither a read nor a page fault. On a busy machine a thread is also stopped without being blocked (a quota, other
/// virtual machines), now and then: there the typical batch has to show it. Empty where it is not so.
std::string blocked_in_function(const std::vector<RankView>& ranks, bool faults_are_reads) {
  double blocked_ns = 0.0;
  double delay_ns = 0.0;
  double wall_ns = 0.0;
  std::vector<double> shares;
  for (const RankView& rank : ranks) {
    if (rank.window.loader.kind != "function") return {};
    for (const SteadyStep& step : rank.window.steps) {
      if (!step.delivery->made_known) continue;
      const record::BatchRecord& made = step.delivery->made;
      const double delay = made.run_delay_ns == UINT64_MAX ? 0.0 : static_cast<double>(made.run_delay_ns);
      const double wall = static_cast<double>(made.end_ns - made.begin_ns);
      const double known = static_cast<double>(made.cpu_ns + made.io.read_ns + made.io.meta_ns) + delay;
      const bool by_faults = faults_are_reads && made.io.major_faults > 0;
      const double blocked = by_faults ? 0.0 : std::max(0.0, wall - known);
      wall_ns += wall;
      delay_ns += delay;
      blocked_ns += blocked;
      shares.push_back(wall > 0.0 ? blocked / wall : 0.0);
    }
  }
  if (!(blocked_ns > k_most_blocked_in_function * wall_ns)) return {};
  const auto middle = shares.begin() + static_cast<std::ptrdiff_t>(shares.size() / 2);
  std::nth_element(shares.begin(), middle, shares.end());
  if (*middle < k_typical_batch_blocked && delay_ns > k_busy_function * wall_ns) return {};
  return ranks.front().window.loader.dataset_type + " is blocked for " +
         std::to_string(static_cast<int>(std::lround(100.0 * blocked_ns / wall_ns))) +
         " % of its time in neither a read nor a page fault: it waits for something that is not seen (a thread or a "
         "process that makes the batches, a lock, a device)";
}

}  // namespace

std::optional<FaultReading> reading_by_faults(const RunData& run, const std::vector<RankView>& ranks) {
  if (ranks.empty() || ranks.front().window.loader.composition != "serial" || mapped_bytes(run) < k_much_unseen_bytes)
    return {};
  double cpu_ns = 0.0;
  double system_ns = 0.0;
  double blocked_s = 0.0;
  std::int64_t with = 0;
  std::int64_t without = 0;
  for (const RankView& rank : ranks) {
    for (const SteadyStep& step : rank.window.steps) {
      if (!step.delivery->made_known) continue;
      const record::BatchRecord& made = step.delivery->made;
      if (made.header.aux != UINT32_MAX || made.run_delay_ns == UINT64_MAX) return {};
      if (made.io.read_bytes >= record::k_hardly_read_bytes * std::max<std::uint32_t>(made.samples, 1)) return {};
      if (made.io.major_faults > 0) {
        ++with;
        cpu_ns += static_cast<double>(made.cpu_ns);
        system_ns += static_cast<double>(made.system_ns);
      } else {
        ++without;
        const double wall_s = static_cast<double>(made.end_ns - made.begin_ns) * 1e-9;
        blocked_s += std::max(0.0, wall_s - static_cast<double>(made.cpu_ns + made.run_delay_ns) * 1e-9);
      }
    }
  }
  if (with == 0) return {};
  FaultReading reading;
  if (without >= k_fewest_without_faults) reading.blocked_without_s = blocked_s / static_cast<double>(without);
  if (cpu_ns > 0.0) reading.cpu_share = std::clamp(system_ns / cpu_ns, 0.0, 1.0);
  return reading;
}

std::string unseen_reading(const RunData& run, const std::vector<RankView>& ranks) {
  // Of loaders that mark no batch's making, what read() gave is not known here.
  if (ranks.empty() || ranks.front().window.loader.composition != "serial") return {};
  const std::string blocked = blocked_in_function(ranks, reading_by_faults(run, ranks).has_value());
  if (!blocked.empty()) return blocked;
  const TickSpan span = delivering_span(run);
  if (!span.known()) return {};
  if (comes_through_pipes(run, read_per_sample(ranks))) {
    return "the data come from other programs" + listed(made_of(run, span).programs) +
           " through pipes or sockets of this machine, and what these wait for is not seen";
  }
  if (span.storage_bytes() < k_much_unseen_bytes) return {};
  const double seen = read_per_sample(ranks) * span.samples;
  if (mapped_bytes(run) >= k_much_unseen_bytes) {
    const bool through_maps = seen < k_hardly_read * span.storage_bytes();
    if (through_maps && reading_by_faults(run, ranks)) return {};
    return through_maps ? "the data are read through maps of their files (mmap), which is not seen" : "";
  }
  if (reading_share(ranks) > k_hardly_read) return {};
  const Made made = made_of(run, span);
  const bool sustained = made.later_bytes >= k_sustained_reading * made.bytes;
  if (made.bytes < k_much_unseen_bytes || seen >= k_hardly_read * made.bytes || !sustained) return {};
  return words_of(made.programs);
}

}  // namespace stallcast::sections
