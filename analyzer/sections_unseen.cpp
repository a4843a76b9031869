/// Reading that no probe sees: of data in maps of files, and by programs that the loader starts, whose output comes
/// through pipes.
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "analyzer/sections.hpp"
#include "analyzer/tick_span.hpp"

namespace stallcast::sections {
namespace {

constexpr double k_much = 1e7;     // bytes from storage: more than libraries that are loaded late
constexpr double k_hardly = 0.10;  // share of it that read() gave

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

}  // namespace

std::string unseen_reading(const RunData& run, const std::vector<RankView>& ranks) {
  constexpr double k_sustained = 0.25;  // in the second half: what is loaded once, late, is over by then
  // Of loaders that mark no batch's making, what read() gave is not known here.
  if (ranks.empty() || ranks.front().window.loader.composition != "serial") return {};
  const TickSpan span = delivering_span(run);
  if (!span.known()) return {};
  if (comes_through_pipes(run, read_per_sample(ranks))) {
    return "the data come from other programs" + listed(made_of(run, span).programs) +
           " through pipes or sockets of this machine, and what these wait for is not seen";
  }
  if (span.storage_bytes() < k_much) return {};
  const double seen = read_per_sample(ranks) * span.samples;
  if (mapped_bytes(run) >= k_much) {
    const bool through_maps = seen < k_hardly * span.storage_bytes();
    return through_maps ? "the data are read through maps of their files (mmap), which is not seen" : "";
  }
  if (reading_share(ranks) > k_hardly) return {};
  const Made made = made_of(run, span);
  const bool sustained = made.later_bytes >= k_sustained * made.bytes;
  if (made.bytes < k_much || seen >= k_hardly * made.bytes || !sustained) return {};
  return words_of(made.programs);
}

}  // namespace stallcast::sections
