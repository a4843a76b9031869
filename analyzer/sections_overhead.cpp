/// The cost of the measurement, from this run's own on/off stretches.
#include <cmath>

#include "analyzer/sections.hpp"
#include "analyzer/statistics.hpp"

namespace stallcast::sections {
namespace {

/// What the job did in one stretch with the recording on or off.
struct Stretch {
  bool recording = true;
  double rate = 0.0;             ///< samples per second
  double cpu_per_sample = -1.0;  ///< negative where CPU times are not known
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

std::vector<Stretch> stretches_of(const std::vector<Tick>& ticks) {
  std::vector<Stretch> stretches;
  std::size_t begin = 0;
  for (std::size_t i = 1; i < ticks.size(); ++i) {
    if (ticks[i].recording == ticks[begin].recording) continue;
    const Tick& a = ticks[begin];
    const Tick& b = ticks[i];
    const double samples = delivered(b) - delivered(a);
    const double length = time_s(b) - time_s(a);
    Stretch stretch{a.recording, 0.0, -1.0};
    if (delivered(a) > 0.0 && samples > 0.0 && length > 0.0) {
      stretch.rate = samples / length;
      if (a.tree_cpu_ns >= 0 && b.tree_cpu_ns > a.tree_cpu_ns) {
        stretch.cpu_per_sample = static_cast<double>(b.tree_cpu_ns - a.tree_cpu_ns) * 1e-9 / samples;
      }
    }
    stretches.push_back(stretch);
    begin = i;
  }
  return stretches;
}

MeasuredEstimate<Fraction> pairs_estimate(const std::vector<double>& log_ratios) {
  if (log_ratios.size() < 3) {
    return MeasuredEstimate<Fraction>::absent("the run was too short to switch the recording off and on three times");
  }
  const Estimate<double> mean = mean_of(log_ratios);
  return Estimate<Fraction>{std::expm1(mean.mean), std::expm1(mean.ci95_low), std::expm1(mean.ci95_high), mean.n};
}

}  // namespace

Overhead overhead_of(const RunData& run) {
  Overhead out;
  std::vector<double> rate_loss;
  std::vector<double> cpu_extra;
  const std::vector<Stretch> stretches = stretches_of(run.log.ticks);
  for (std::size_t i = 0; i + 1 < stretches.size(); i += 2) {
    const Stretch& on = stretches[i].recording ? stretches[i] : stretches[i + 1];
    const Stretch& off = stretches[i].recording ? stretches[i + 1] : stretches[i];
    if (on.rate <= 0.0 || off.rate <= 0.0) continue;
    rate_loss.push_back(std::log(off.rate / on.rate));
    if (on.cpu_per_sample > 0.0 && off.cpu_per_sample > 0.0) {
      cpu_extra.push_back(std::log(on.cpu_per_sample / off.cpu_per_sample));
    }
  }
  out.throughput = pairs_estimate(rate_loss);
  out.cpu = pairs_estimate(cpu_extra);
  double bytes = 0.0;
  for (const record::ProcessRecording& process : run.processes) {
    bytes += static_cast<double>(process.file_bytes);
    out.dropped_records += static_cast<std::int64_t>(process.info.dropped_records);
  }
  out.recording = Bytes(bytes);
  return out;
}

}  // namespace stallcast::sections
