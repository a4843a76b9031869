#include "analyzer/load/no_files.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "analyzer/load/constants.hpp"

namespace stallcast {
namespace {

/// What the making of batches read since the phases began.
struct BatchesMade {
  double samples = 0.0;
  double bytes = 0.0;
  double opens = 0.0;
  bool by_itself = false;  ///< some of them in the process that trains
  std::int64_t known = 0;
  std::int64_t unknown = 0;
};

BatchesMade made_by(const Consumer& consumer) {
  BatchesMade made;
  for (const Pass& pass : consumer.passes) {
    for (const Delivery& delivery : pass.deliveries) {
      if (delivery.wait.end_ns < consumer.phases_begin_ns) continue;
      ++(delivery.made_known ? made.known : made.unknown);
      if (!delivery.made_known) continue;
      made.by_itself = made.by_itself || delivery.made.header.aux == UINT32_MAX;
      made.samples += delivery.made.samples;
      made.bytes += static_cast<double>(delivery.made.io.read_bytes) + static_cast<double>(delivery.received_bytes);
      made.opens += delivery.made.io.opens;
    }
  }
  return made;
}

/// By all processes of the job since the phases began; negative: not known.
double from_storage(const RunData& run, const Consumer& consumer) {
  std::vector<double> read;
  for (const Tick& tick : run.log.ticks) {
    if (tick.t_ns < consumer.phases_begin_ns || tick.tree_read_bytes < 0) continue;
    read.push_back(static_cast<double>(tick.tree_read_bytes));
  }
  return read.size() < 2 ? -1.0 : read.back() - read.front();
}

/// By processes of the job since the phases began, in reads of files and pipes; negative: not known.
double read_since_phases(const RunData& run, const Consumer& consumer) {
  std::map<std::int64_t, std::int64_t> before;
  std::map<std::int64_t, std::int64_t> last;
  for (const Tick& tick : run.log.ticks) {
    for (const ProcessTick& process : tick.processes) {
      if (process.rchar < 0) return -1.0;
      last[process.pid] = process.rchar;
      if (tick.t_ns <= consumer.phases_begin_ns) before[process.pid] = process.rchar;
    }
  }
  if (before.find(consumer.pid) == before.end()) return -1.0;
  double bytes = 0.0;
  for (const auto& [pid, read] : last) {
    const auto known = before.find(pid);
    const bool goes_on = known != before.end() && known->second <= read;  // or the number is another process' now
    bytes += static_cast<double>(goes_on ? read - known->second : read);
  }
  return bytes;
}

/// By threads that make no batches, in the processes of the job: where the training process makes its own, what others
/// of its threads read or receive for a batch is in no record of it. Files that were read before the phases began, as
/// modules and data sets in memory are, do not count where that is known.
double read_aside(const RunData& run, const Consumer& consumer) {
  double files = 0.0;
  double streams = 0.0;
  for (const record::ProcessRecording& process : run.processes) {
    files += static_cast<double>(process.info.other_read_bytes);
    streams += static_cast<double>(process.info.stream_read_bytes);
  }
  const double since = read_since_phases(run, consumer);
  return streams + (since >= 0.0 ? std::min(since, files) : files);
}

}  // namespace

bool reads_no_file(const RunData& run, const Consumer& consumer) {
  if (consumer.phases_begin_ns == UINT64_MAX) return false;
  const bool mapped = std::any_of(run.processes.begin(), run.processes.end(),
                                  [](const auto& process) { return !process.mapped.empty(); });
  const BatchesMade made = made_by(consumer);
  if (mapped || made.known < k_fewest_without_file || made.unknown > made.known) return false;
  if (made.bytes > k_no_file_bytes_of_sample * made.samples || made.opens > k_no_file_opens_of_sample * made.samples)
    return false;
  if (made.by_itself &&
      read_aside(run, consumer) > std::max(k_no_file_bytes_of_sample * made.samples, k_late_imports_bytes))
    return false;
  const double stored = from_storage(run, consumer);
  return stored >= 0.0 && stored <= std::max(k_no_file_bytes_of_sample * made.samples, k_late_imports_bytes);
}

}  // namespace stallcast
