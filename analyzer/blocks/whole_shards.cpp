#include "analyzer/blocks/whole_shards.hpp"

#include <algorithm>
#include <map>

#include "analyzer/blocks/constants.hpp"

namespace stallcast {
namespace {

/// Size of the largest file that was opened for a delivery's batch; 0 if none was, or that is not known.
double largest_file(const Delivery& delivery, const BlockEvidence& evidence, std::uint32_t segment) {
  const BatchEvidence* seen = evidence.of(delivery);
  if (seen == nullptr || seen->phase == nullptr || seen->phase->header.aux != segment) return 0.0;
  return static_cast<double>(seen->phase->largest_file);
}

}  // namespace

std::vector<ShardSpan> whole_shards(std::span<const Delivery> block, const BlockEvidence& evidence,
                                    std::uint32_t segment, std::uint64_t from_ns) {
  double shard = 0.0;
  for (const Delivery& delivery : block) shard = std::max(shard, largest_file(delivery, evidence, segment));
  std::map<std::uint32_t, ShardSpan> of_workers;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const double opened = largest_file(block[i], evidence, segment);
    const bool is_awaited = seconds_until_made(block[i]) > 0.0;
    if (!(opened > 0.0) || opened < shard / 2.0 || block[i].made.begin_ns < from_ns || !is_awaited) continue;
    of_workers.try_emplace(block[i].made.header.aux, ShardSpan{i, i}).first->second.last = i;
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

ShardSums sums_of(std::span<const Delivery> block, const std::vector<ShardSpan>& spans, const LoaderFacts& loader) {
  ShardSums sums;
  for (const ShardSpan& span : spans) {
    for (std::size_t i = span.first + 1; i <= span.last; ++i) {
      sums.samples += samples_of(block[i], loader);
      sums.bytes += static_cast<double>(block[i].made.io.read_bytes);
    }
    const std::uint64_t from_ns = handed_over_ns(block[span.first].made);
    sums.seconds += static_cast<double>(handed_over_ns(block[span.last].made) - from_ns) * 1e-9;
  }
  return sums;
}

}  // namespace stallcast
