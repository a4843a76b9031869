#include "analyzer/load/tick_span.hpp"

#include <algorithm>

namespace stallcast::sections {

double delivered_at(const Tick& tick) {
  double delivered = 0.0;
  for (const RankTick& rank : tick.ranks) delivered += static_cast<double>(rank.samples);
  return delivered;
}

TickSpan delivering_span(const RunData& run) {
  TickSpan span;
  double begin = 0.0;
  double all = 0.0;
  for (const Tick& tick : run.log.ticks) all = std::max(all, delivered_at(tick));
  std::uint64_t found_until_ns = UINT64_MAX;
  for (const Consumer& consumer : run.consumers) found_until_ns = std::min(found_until_ns, consumer.phases_begin_ns);
  for (const Tick& tick : run.log.ticks) {
    if (tick.t_ns > found_until_ns) break;
    const double delivered = delivered_at(tick);
    if (delivered <= 0.0 || tick.tree_read_bytes < 0) continue;
    if (delivered >= all && span.samples > 0.0) break;
    if (span.first == nullptr) {
      span.first = &tick;
      begin = delivered;
    }
    if (delivered - begin > span.samples || span.last == nullptr) {
      span.last = &tick;
      span.samples = delivered - begin;
    }
  }
  return span;
}

bool counts_samples(const RunData& run) {
  return std::any_of(run.log.ticks.begin(), run.log.ticks.end(),
                     [](const Tick& tick) { return delivered_at(tick) > 0.0; });
}

std::string why_no_span(const RunData& run) {
  const bool read = std::any_of(run.log.ticks.begin(), run.log.ticks.end(),
                                [](const Tick& tick) { return tick.tree_read_bytes >= 0; });
  if (run.log.ticks.empty()) return "nobody watched the run from outside";
  if (!read) return "/proc/PID/io could not be read";
  if (!counts_samples(run)) return "how many samples a batch holds is not known";
  return "the run was too short: batches came between fewer than two looks at /proc/PID/io";
}

}  // namespace stallcast::sections
