#include "model/setting/by_shards.hpp"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>

#include "model/setting/constants.hpp"

namespace stallcast {
std::vector<PartOfTime> by_shards(const JobModel& job, const Setting& setting) {
  const bool some = setting.miss > k_no_share_of_shards && setting.miss < 1.0 - k_no_share_of_shards;
  if (!job.reads_ahead || !job.in_order || !setting.cached || !some || !setting.loads) return {{1.0, setting}};
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

}  // namespace stallcast
