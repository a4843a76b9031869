#include "model/setting/lone_reader.hpp"

#include <algorithm>
#include <cmath>

#include "model/job/stream_reads.hpp"
#include "model/setting/constants.hpp"

namespace stallcast {
namespace {

bool has_lone_reader(const JobModel& job, const Setting& setting) {
  if (!job.reads_ahead || !setting.loads || !(setting.miss > 0.0)) return false;
  if (setting.workers <= 1) return true;
  const double readers = setting.workers * setting.ranks_per_node * setting.jobs;
  // Of a cache of whole shards, parts_of_time() tells how many are outside of it.
  return job.in_order && setting.cached.has_value() && std::abs(setting.miss * readers - 1.0) < k_no_share_of_reads;
}

}  // namespace

void add_lone_reader(const JobModel& job, const Setting& setting, double demand_s, ServiceDemands& in) {
  auto reader = shard_reader(job);
  if (!reader || !has_lone_reader(job, setting) || !(demand_s > 0.0)) return;
  const double samples = setting.batch / setting.uses;
  const double beside = setting.ranks_per_node * setting.jobs;  // demand_s counts them all
  reader->storage_s = demand_s / beside;
  reader->own_s = (in.cpu_s * std::max(1.0, 1.0 / in.cores) + in.other_s) / samples;
  if (setting.workers > 0) {
    const double missed = setting.workers > 1 ? 1.0 : setting.miss;  // of this reader's samples
    const double sample_s = missed * read_ahead::sample_s(*reader) + (1.0 - missed) * reader->own_s;
    in.limit_s = std::max(in.limit_s, samples * sample_s / setting.workers);
    return;
  }
  const double step_s = in.device_s + in.step_cpu_s * std::max(1.0, in.step_threads / in.cores);
  reader->batch = samples * job.batches_at_once;
  reader->pause_s = step_s * job.batches_at_once;
  const double batch_s = samples * read_ahead::sample_s(*reader);
  in.disk_s = setting.miss * std::max(0.0, batch_s - samples * reader->own_s - step_s);
}

}  // namespace stallcast
