#include "model/job/stream_reads.hpp"

#include <algorithm>

#include "model/job/constants.hpp"
#include "model/job/inputs.hpp"

namespace stallcast {
namespace {

/// The size of the shard that a byte lies in, on average. Files that are read beside the shards (labels, an index) are
/// as many as these at times, and hold next to nothing.
double shard_of_a_byte(const Distribution& sizes) {
  const double n = static_cast<double>(sizes.n);
  return std::min(sizes.max, sizes.mean + sizes.variance * (n - 1.0) / n / sizes.mean);
}

/// Of what a storage could deliver while nobody reads, most is delivered afterwards.
bool saves_up(const JobModel& job) {
  return job.storage_saved > k_saves_up_from;
}

}  // namespace

void read_order(const Profile& profile, JobModel& job) {
  const std::string& kind = profile.job.loader_kind;
  const bool is_stream = kind == "iterable" || kind == "keras";
  job.reads_ahead = is_stream && !job.reads_mapped && !job.reads_unseen && profile.dataset.layout == "shards";
  const auto& sizes = profile.dataset.file_size_bytes;
  if (sizes && sizes->mean > 0.0 && inputs::plausible_bytes(shard_of_a_byte(*sizes)))
    job.shard_bytes = shard_of_a_byte(*sizes);
  const auto bytes = [](const Measured<Bytes>& seen) -> std::optional<double> {
    if (!seen || !(seen->value() > 0.0) || !inputs::plausible_bytes(seen->value())) return std::nullopt;
    return seen->value();
  };
  job.read_ahead_bytes = bytes(profile.storage.read_ahead);
  job.at_once_bytes = bytes(profile.storage.at_once);
  const auto& fetch = profile.stalls.as_is_fetch;
  const bool found_cold = job.miss >= k_as_good_as_all && fetch && fetch->ci95_low > k_storage_sets_pace;
  if (job.reads_ahead && found_cold) job.stream_demand_s = 1.0 / job.rate;
}

std::optional<read_ahead::Reader> shard_reader(const JobModel& job) {
  const auto bytes = job.stored_bytes ? job.stored_bytes : job.sample_bytes;
  if (!job.reads_ahead || !job.shard_bytes || !job.read_ahead_bytes || !bytes) return std::nullopt;
  if (!(*job.shard_bytes > 0.0) || !(*bytes > 0.0) || !(*job.read_ahead_bytes > 0.0)) return std::nullopt;
  // Of shards of many windows only the last ones tell what comes at once.
  const bool is_long = *job.shard_bytes > k_many_windows * *job.read_ahead_bytes;
  if (!job.at_once_bytes && !is_long) return std::nullopt;
  return read_ahead::Reader{.shard_bytes = *job.shard_bytes,
                            .sample_bytes = std::min(*bytes, *job.shard_bytes),
                            .read_ahead_bytes = *job.read_ahead_bytes,
                            .at_once_bytes = job.at_once_bytes.value_or(*job.read_ahead_bytes),
                            .saving_pause_s = saves_up(job) ? k_longest_saving_pause_s : 0.0};
}

void take_out_lone_reader(JobModel& job) {
  if (!job.stream_demand_s || job.workers > 1) return;
  auto reader = shard_reader(job);
  if (!reader) {
    if (job.storage_demand_s) job.stream_demand_s = std::min(*job.stream_demand_s, *job.storage_demand_s);
    return;
  }
  reader->own_s = job.cpu_s + job.miss_cpu_s + job.other_s;
  if (job.workers == 0) {
    reader->own_s -= job.handover_s;
    reader->batch = job.batch * job.batches_at_once;
    reader->pause_s = job.compute_s * job.batches_at_once;
  }
  const double demand_s = read_ahead::storage_s_of(*reader, *job.stream_demand_s);
  if (demand_s > 0.0) job.stream_demand_s = demand_s;
}

}  // namespace stallcast
