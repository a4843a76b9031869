#include "model/setting/parts_of_time.hpp"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>

#include "model/analytic/cache.hpp"
#include "model/setting/constants.hpp"

namespace stallcast {
namespace {

/// By how many of the workers are in a shard that the cache does not hold.
std::vector<PartOfTime> by_shards(const Setting& setting) {
  const double readers =
      std::round(std::clamp(setting.workers * setting.ranks_per_node, k_fewest_shard_readers, k_most_shard_readers));
  const boost::math::binomial_distribution<double> cold(readers, setting.miss);
  std::vector<PartOfTime> parts;
  for (int k = 0; k <= static_cast<int>(readers); ++k) {
    PartOfTime part{boost::math::pdf(cold, k), setting};
    part.setting.miss = part.setting.miss_least = part.setting.miss_most = k / readers;
    parts.push_back(std::move(part));
  }
  return parts;
}

/// An epoch in stretches of as many samples.
std::vector<PartOfTime> over_epoch(const Setting& setting) {
  const PageCacheEpoch epoch(*setting.cached, setting.nodes);
  std::vector<PartOfTime> parts;
  for (int k = 0; k < k_parts_of_epoch; ++k) {
    PartOfTime part{1.0 / k_parts_of_epoch, setting};
    Setting& then = part.setting;
    then.miss = then.miss_least = then.miss_most = 0.0;
    for (int i = 0; i < k_places_of_part; ++i) {
      const double at = (k + (i + 0.5) / k_places_of_part) / k_parts_of_epoch;
      const HitBand hits = epoch.at(at);
      then.miss += (1.0 - hits.mean) / k_places_of_part;
      then.miss_least += (1.0 - hits.high) / k_places_of_part;
      then.miss_most += (1.0 - hits.low) / k_places_of_part;
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace

std::vector<PartOfTime> parts_of_time(const JobModel& job, const Setting& setting) {
  const bool some = setting.miss > k_no_share_of_reads && setting.miss < 1.0 - k_no_share_of_reads;
  if (!setting.cached || !some || !setting.loads) return {{1.0, setting}};
  if (job.reads_ahead) return job.in_order ? by_shards(setting) : std::vector<PartOfTime>{{1.0, setting}};
  if (setting.policy == CachePolicy::page_cache) return over_epoch(setting);
  return {{1.0, setting}};
}

}  // namespace stallcast
