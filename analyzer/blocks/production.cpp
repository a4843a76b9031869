#include "analyzer/blocks/production.hpp"

#include <algorithm>
#include <map>

#include "analyzer/blocks/constants.hpp"

namespace stallcast {
namespace {

/// Whether none of the workers rested, or one of many for a moment: it was ahead of the others, and the script took
/// theirs first.
bool all_busy(const std::map<std::uint32_t, double>& busy_s, double seconds) {
  double least = 1.0;
  double sum = 0.0;
  for (const auto& [worker, busy] : busy_s) {
    if (busy > k_two_at_once * seconds) return false;
    least = std::min(least, busy / seconds);
    sum += busy / seconds;
  }
  const bool mostly = least >= k_busy_for_most && sum >= k_busy_in_the_mean * static_cast<double>(busy_s.size());
  return least >= k_busy_all_the_time || mostly;
}

}  // namespace

std::optional<Production> production_of(const Pass& pass, std::span<const Delivery> block, std::size_t workers,
                                        double samples_per_batch, std::uint64_t from_ns, std::uint64_t to_ns) {
  if (from_ns >= to_ns) return std::nullopt;
  Production all;
  all.seconds = static_cast<double>(to_ns - from_ns) * 1e-9;
  std::map<std::uint32_t, double> busy_s;  // by worker
  for (const Delivery& delivery : pass.deliveries) {
    const bool inside = &delivery >= block.data() && &delivery < block.data() + block.size();
    if (!delivery.made_known) {
      if (inside && delivery.wait.end_ns > from_ns) return std::nullopt;
      continue;
    }
    const std::uint64_t begin_ns = delivery.made.begin_ns;
    const std::uint64_t end_ns = handed_over_ns(delivery.made);
    if (end_ns <= from_ns || begin_ns >= to_ns) continue;
    const double samples = delivery.wait.samples > 0 ? delivery.wait.samples : samples_per_batch;
    if (!inside || begin_ns >= end_ns || !(samples > 0.0)) return std::nullopt;
    const double took_s = static_cast<double>(end_ns - begin_ns) * 1e-9;
    const double passed_s = static_cast<double>(std::min(end_ns, to_ns) - std::max(begin_ns, from_ns)) * 1e-9;
    const double share = passed_s / took_s;
    const auto bytes = static_cast<double>(delivery.made.io.read_bytes);
    busy_s[delivery.made.header.aux] += passed_s;
    all.samples += share * samples;
    all.bytes += share * bytes;
    if (begin_ns >= from_ns && end_ns <= to_ns) {
      all.groups.push_back({bytes / samples, took_s / samples / static_cast<double>(workers)});
    }
  }
  return busy_s.size() == workers && all_busy(busy_s, all.seconds) ? std::optional<Production>(std::move(all))
                                                                   : std::nullopt;
}

}  // namespace stallcast
