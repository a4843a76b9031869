/// Parts of a job's time in which other shares of its reads come from storage. Batches that a loader keeps ready do not
/// bridge them: the job goes at the pace of each, and its time is the mean over them. Where storage binds in one and
/// the cores in another, that is longer than the time at the mean share.
///
/// A cache that holds some of a stream's shards. A worker reads one shard after the other, so for as long as a shard
/// lasts all of its samples come from memory, or all from storage.
///
/// Worked example. 2 workers, storage gives 200 samples/s, memory 347; 65 % of the shards are on storage. Both workers
/// are in such a shard for 42 % of the samples (5.0 ms each), one of them for 46 % (storage then gives 400, the step
/// binds at 2.9 ms), none for 12 %: 3.8 ms, 263 samples/s. The mean share of 65 % would have said 308.
///
/// A page cache. What was read at the end of an epoch is of use when the next one begins; later most of what it holds
/// has been read already (analytic/cache.hpp).
///
/// Worked example. Storage gives 190 samples/s, memory 361; the cache holds 76 %. Hits begin at 77 % and end at 24 %:
/// for the first half of the epoch the step binds, at its end storage does with 250 samples/s. 321 in all, where the
/// mean of 52 % hits would have said 361.
#pragma once

#include <vector>

#include "model/setting/setting.hpp"

namespace stallcast {

struct PartOfTime {
  double weight = 1.0;  ///< share of the samples
  Setting setting{};
};

/// What `setting` is made of; itself alone where its share of reads from storage is the same throughout.
[[nodiscard]] std::vector<PartOfTime> parts_of_time(const JobModel& job, const Setting& setting);

}  // namespace stallcast
