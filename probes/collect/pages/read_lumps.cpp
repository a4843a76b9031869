#include "probes/collect/pages/read_lumps.hpp"

#include <algorithm>

#include "probes/collect/pages/constants.hpp"

namespace stallcast::collect {
namespace {

/// A batch was made: `since` counts from the last one that did what `does` tells, and `most` is the longest way there.
void count(bool does, std::uint64_t& since, std::uint64_t& most) {
  if (does) {
    most = std::max(most, since);
    since = 1;
  } else if (since > 0) {
    ++since;
  }
}

}  // namespace

void ReadLumps::take(const Followed& followed) {
  for (const FollowedBatch& batch : followed.batches) {
    Worker& worker = workers_[batch.pid];
    worker.largest_bytes = std::max(worker.largest_bytes, batch.read_bytes);
    const double least = k_least_of_lump * static_cast<double>(worker.largest_bytes);
    const bool reads = batch.read_bytes > 0 && static_cast<double>(batch.read_bytes) >= least;
    count(reads, worker.since_read, between_reads_);
    count(batch.opens > 0, worker.since_open, between_opens_);
  }
}

}  // namespace stallcast::collect
