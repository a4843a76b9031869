#include "analyzer/blocks/whole_shards.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "analyzer/blocks/constants.hpp"

namespace stallcast {
namespace {

/// Places in a range of deliveries, by the worker that made them.
using ByWorker = std::map<std::uint32_t, std::vector<std::size_t>>;

/// Size of the largest file that was opened for a delivery's batch; 0 if none was, or that is not known.
double largest_file(const Delivery& delivery, const BlockEvidence& evidence) {
  const BatchEvidence* seen = evidence.of(delivery);
  return seen != nullptr && seen->phase != nullptr ? static_cast<double>(seen->phase->largest_file) : 0.0;
}

/// Those whose batches opened a shard.
template <typename Counts>
ByWorker openings(std::span<const Delivery> deliveries, const BlockEvidence& evidence, Counts counts) {
  double shard = 0.0;
  for (const Delivery& delivery : deliveries) {
    if (counts(delivery)) shard = std::max(shard, largest_file(delivery, evidence));
  }
  ByWorker found;
  for (std::size_t i = 0; i < deliveries.size(); ++i) {
    const double opened = counts(deliveries[i]) ? largest_file(deliveries[i], evidence) : 0.0;
    if (opened > 0.0 && opened >= shard / 2.0) found[deliveries[i].made.header.aux].push_back(i);
  }
  return found;
}

ByWorker all_of(std::span<const Delivery> deliveries) {
  ByWorker found;
  for (std::size_t i = 0; i < deliveries.size(); ++i) found[deliveries[i].made.header.aux].push_back(i);
  return found;
}

/// All that are as many shards of `shard_batches` as lie between two of a worker's deliveries that count, and in which
/// it opened as many: what one of them begins with in stock more than it ends with, another one has less.
template <typename Counts>
void add_spans(const std::vector<std::size_t>& made, const std::vector<std::size_t>& opened, double shard_batches,
               Counts counts, std::vector<ShardSpan>& spans) {
  const auto openings_to = [&](std::size_t at) {
    return std::upper_bound(opened.begin(), opened.end(), at) - opened.begin();
  };
  const std::size_t before = spans.size();
  const auto most = static_cast<std::size_t>(static_cast<double>(made.size()) / shard_batches);
  for (std::size_t shards = most; shards > 0 && spans.size() == before; --shards) {
    const auto length = static_cast<std::size_t>(std::lround(static_cast<double>(shards) * shard_batches));
    for (std::size_t last = length; last < made.size(); ++last) {
      const ShardSpan span{made[last - length], made[last]};
      const auto in_it = static_cast<std::size_t>(openings_to(span.last) - openings_to(span.first));
      const bool as_many = in_it > 0 && in_it + 1 >= shards && in_it <= shards + 1;
      if (as_many && counts(span.first) && counts(span.last)) spans.push_back(span);
    }
  }
}

}  // namespace

std::vector<double> shard_lengths(const Pass& pass, const BlockEvidence& evidence) {
  const auto is_known = [&](const Delivery& delivery) {
    const BatchEvidence* seen = evidence.of(delivery);
    return delivery.made_known && seen != nullptr && seen->phase != nullptr;
  };
  std::vector<double> lengths;
  const ByWorker made = all_of(pass.deliveries);
  for (const auto& [worker, opened] : openings(pass.deliveries, evidence, is_known)) {
    const std::vector<std::size_t>& own = made.at(worker);
    for (std::size_t i = 1; i < opened.size(); ++i) {
      const auto from = std::lower_bound(own.begin(), own.end(), opened[i - 1]);
      const auto to = std::lower_bound(from, own.end(), opened[i]);
      const bool all_known = std::all_of(from, to, [&](std::size_t at) { return is_known(pass.deliveries[at]); });
      if (all_known) lengths.push_back(static_cast<double>(to - from));
    }
  }
  return lengths;
}

std::optional<double> batches_of_shard(const std::vector<double>& lengths) {
  if (lengths.size() < k_fewest_shards_alike) return std::nullopt;
  const auto [least, most] = std::minmax_element(lengths.begin(), lengths.end());
  if (*most - *least > std::max(1.0, k_shards_differ * *most)) return std::nullopt;
  return std::accumulate(lengths.begin(), lengths.end(), 0.0) / static_cast<double>(lengths.size());
}

std::vector<ShardSpan> whole_shards(std::span<const Delivery> block, const BlockEvidence& evidence,
                                    std::uint32_t segment, std::uint64_t from_ns, std::optional<double> shard_batches) {
  const auto in_segment = [&](const Delivery& delivery) {
    const BatchEvidence* seen = evidence.of(delivery);
    return seen != nullptr && seen->phase != nullptr && seen->phase->header.aux == segment;
  };
  const auto counts = [&](std::size_t i) { return in_segment(block[i]) && block[i].made.begin_ns >= from_ns; };
  const bool all_known =
      std::all_of(block.begin(), block.end(), [](const Delivery& delivery) { return delivery.made_known; });
  ByWorker opened_by = openings(block, evidence, in_segment);
  std::vector<ShardSpan> spans;
  if (shard_batches && all_known) {
    for (const auto& [worker, made] : all_of(block)) add_spans(made, opened_by[worker], *shard_batches, counts, spans);
  } else {
    for (auto& [worker, opened] : opened_by) {
      std::erase_if(opened, [&](std::size_t i) { return !counts(i) || seconds_until_made(block[i]) <= 0.0; });
      if (opened.size() > 1) spans.push_back({opened.front(), opened.back()});
    }
  }
  std::size_t longest = 0;
  for (const ShardSpan& span : spans) longest = std::max(longest, span.last - span.first);
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
