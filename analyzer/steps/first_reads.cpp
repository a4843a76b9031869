#include "analyzer/steps/first_reads.hpp"

#include <algorithm>
#include <unordered_set>

#include "analyzer/steps/timed_samples.hpp"

namespace stallcast {

FirstReads::FirstReads(const std::vector<record::ProcessRecording>& processes) {
  std::vector<const record::SampleRecord*> samples;
  for (const record::ProcessRecording& process : processes) {
    for (const record::SampleRecord& sample : process.samples) {
      if (sample.index >= 0) samples.push_back(&sample);
    }
  }
  samples = evenly_timed(samples).samples;
  std::sort(samples.begin(), samples.end(), [](const auto* a, const auto* b) { return a->begin_ns < b->begin_ns; });
  std::unordered_set<std::int64_t> seen;
  begun_.reserve(samples.size());
  for (const record::SampleRecord* sample : samples) {
    begun_.push_back({sample->begin_ns, seen.insert(sample->index).second});
  }
}

double FirstReads::share(std::uint64_t begin_ns, std::uint64_t end_ns) const {
  const auto before = [](const Begun& begun, std::uint64_t time_ns) { return begun.begin_ns < time_ns; };
  const auto from = std::lower_bound(begun_.begin(), begun_.end(), begin_ns, before);
  const auto to = std::lower_bound(from, begun_.end(), end_ns, before);
  if (from == to) return -1.0;
  const auto first = std::count_if(from, to, [](const Begun& begun) { return begun.is_first; });
  return static_cast<double>(first) / static_cast<double>(to - from);
}

}  // namespace stallcast
