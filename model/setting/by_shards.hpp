/// A cache that holds some of a stream's shards. A worker reads one shard after the other, so for as long as a shard
/// lasts all of its samples come from memory, or all from storage: batches that its loader keeps ready do not bridge
/// that. The job goes at the pace of its workers as they happen to be, and its time is the mean over that.
///
/// Worked example. 2 workers, storage gives 200 samples/s, memory 347; 65 % of the shards are on storage. Both workers
/// are in such a shard for 42 % of the samples (5.0 ms each), one of them for 46 % (storage then gives 400, the step
/// binds at 2.9 ms), none for 12 %: 3.8 ms, 263 samples/s. The mean share of 65 % would have said 308.
#pragma once

#include <vector>

#include "model/setting/setting.hpp"

namespace stallcast {

struct PartOfTime {
  double weight = 1.0;  ///< share of the samples
  Setting setting{};
};

/// What `setting` is made of; itself alone where its cache does not hold shards whole, or all or none of them.
[[nodiscard]] std::vector<PartOfTime> by_shards(const JobModel& job, const Setting& setting);

}  // namespace stallcast
