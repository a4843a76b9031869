#include "analyzer/steps/makings.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "analyzer/statistics/statistics.hpp"
#include "analyzer/steps/constants.hpp"

namespace stallcast::sections {
namespace {

/// Of one sample of the batch; negative: not known.
double own_seconds(const Delivery& delivery) {
  const record::BatchRecord& made = delivery.made;
  if (!delivery.made_known || made.samples == 0 || made.io.major_faults > 0 || made.end_ns <= made.begin_ns)
    return -1.0;
  std::uint64_t other_ns = made.io.read_ns + made.io.meta_ns;
  if (made.run_delay_ns != UINT64_MAX) other_ns += made.run_delay_ns;
  const std::uint64_t all_ns = made.end_ns - made.begin_ns;
  return static_cast<double>(all_ns > other_ns ? all_ns - other_ns : 0) * 1e-9 / made.samples;
}

}  // namespace

std::vector<EpochMaking> makings_by_epoch(const std::vector<RankView>& ranks) {
  std::map<std::int64_t, EpochMaking> epochs;
  std::map<std::int64_t, std::vector<double>> seconds;
  for (const RankView& rank : ranks) {
    std::int64_t number = 1;  // passes are in their order; what the loader calls an epoch may begin anywhere
    for (const Pass* pass : rank.window.passes) {
      if (pass->deliveries.empty()) continue;
      EpochMaking& epoch = epochs[number];
      epoch.epoch = number;
      epoch.begin_ns = std::min(epoch.begin_ns, pass->deliveries.front().wait.begin_ns);
      epoch.end_ns = std::max(epoch.end_ns, pass->deliveries.back().wait.end_ns);
      for (const Delivery& delivery : pass->deliveries) {
        const double own = own_seconds(delivery);
        if (own >= 0.0) seconds[number].push_back(own);
      }
      ++number;
    }
  }
  std::vector<EpochMaking> known;
  for (auto& [number, epoch] : epochs) {
    if (seconds[number].size() < k_fewest_made_in_epoch) continue;
    epoch.seconds_per_sample = median_of(std::move(seconds[number]));
    known.push_back(epoch);
  }
  return known;
}

std::vector<MakingLevel> levels_of(const std::vector<EpochMaking>& epochs, double step_s, double batch, double makers) {
  if (epochs.size() < 2) return {};
  const double first = epochs.front().seconds_per_sample;
  const double last = epochs.back().seconds_per_sample;
  const double change = std::abs(first - last);
  if (!(step_s > 0.0) || !(std::min(first, last) > 0.0)) return {};
  if (std::max(first, last) < k_other_making * std::min(first, last)) return {};
  if (change * batch / std::max(makers, 1.0) < k_making_matters * step_s) return {};
  const auto is_near = [&](std::size_t at, double level) {
    return std::abs(epochs[at].seconds_per_sample - level) <= k_making_level * change;
  };
  std::size_t before = 0;
  while (is_near(before + 1, first)) ++before;  // the last epoch is not
  std::size_t since = epochs.size() - 1;
  while (is_near(since - 1, last)) --since;
  std::vector<MakingLevel> levels{{0, before}};
  if (before + 1 < since) levels.push_back({before + 1, since - 1});
  levels.push_back({since, epochs.size() - 1});
  return levels;
}

}  // namespace stallcast::sections
