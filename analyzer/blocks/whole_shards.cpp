#include "analyzer/blocks/whole_shards.hpp"

#include <algorithm>
#include <map>

#include "analyzer/blocks/constants.hpp"

namespace stallcast {

namespace {

/// Mean size of the files that were opened for a delivery's batch; 0 if none was, or that is not known.
double opened_bytes(const Delivery& delivery, const BlockEvidence& evidence, std::uint32_t segment) {
  const BatchEvidence* seen = evidence.of(delivery);
  if (seen == nullptr || seen->phase == nullptr || seen->phase->header.aux != segment) return 0.0;
  return seen->phase->opens > 0 ? static_cast<double>(seen->phase->opened_bytes) / seen->phase->opens : 0.0;
}

double largest_opened(std::span<const Delivery> block, const BlockEvidence& evidence, std::uint32_t segment) {
  double largest = 0.0;
  for (const Delivery& delivery : block) largest = std::max(largest, opened_bytes(delivery, evidence, segment));
  return largest;
}

}  // namespace

std::vector<ShardSpan> whole_shards(std::span<const Delivery> block, const BlockEvidence& evidence,
                                    std::uint32_t segment, std::uint64_t from_ns) {
  std::map<std::uint32_t, ShardSpan> of_workers;
  const double largest = largest_opened(block, evidence, segment);
  for (std::size_t i = 0; i < block.size(); ++i) {
    const double opened = opened_bytes(block[i], evidence, segment);
    if (!(opened > 0.0) || opened < largest / 2.0 || block[i].made.begin_ns < from_ns) continue;
    const auto [worker, is_first] = of_workers.try_emplace(block[i].made.header.aux, ShardSpan{i, i});
    worker->second.last = i;
  }
  std::vector<ShardSpan> spans;
  std::size_t longest = 0;
  for (const auto& [worker, span] : of_workers) {
    if (span.first == span.last) continue;
    spans.push_back(span);
    longest = std::max(longest, span.last - span.first);
  }
  const bool is_long = static_cast<double>(longest) >= k_least_in_whole_shards * static_cast<double>(block.size());
  return is_long ? spans : std::vector<ShardSpan>{};
}

double seconds_per_sample(std::span<const Delivery> block, const std::vector<ShardSpan>& spans,
                          const LoaderFacts& loader) {
  double samples = 0.0;
  double seconds = 0.0;
  for (const ShardSpan& span : spans) {
    for (std::size_t i = span.first + 1; i <= span.last; ++i) samples += samples_of(block[i], loader);
    seconds += static_cast<double>(block[span.last].wait.end_ns - block[span.first].wait.end_ns) * 1e-9;
  }
  return seconds / samples;
}

}  // namespace stallcast
