#include "analyzer/steps/timed_samples.hpp"

#include <algorithm>

namespace stallcast {
namespace {

/// Recordings of before samples were left untimed say 0.
std::int64_t period_of(const record::SampleRecord& sample) {
  return std::max<std::int64_t>(sample.period, 1);
}

}  // namespace

TimedSamples evenly_timed(const std::vector<const record::SampleRecord*>& samples) {
  TimedSamples even;
  for (const record::SampleRecord* sample : samples) even.period = std::max(even.period, period_of(*sample));
  std::int64_t stood_for = 0;  // by samples without an index: chosen by count, not by hash
  for (const record::SampleRecord* sample : samples) {
    if (sample->index >= 0) {
      if (record::sample_hash(sample->index) % static_cast<std::uint64_t>(even.period) != 0) continue;
    } else {
      stood_for += period_of(*sample);
      if (stood_for < even.period) continue;
      stood_for -= even.period;
    }
    even.samples.push_back(sample);
  }
  return even;
}

}  // namespace stallcast
