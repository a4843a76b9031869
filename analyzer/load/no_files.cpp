#include "analyzer/load/no_files.hpp"

#include <algorithm>

#include "analyzer/load/constants.hpp"

namespace stallcast {
namespace {

/// What the making of batches read since the phases began.
struct Made {
  double samples = 0.0;
  double bytes = 0.0;
  double opens = 0.0;
  std::int64_t known = 0;
  std::int64_t unknown = 0;
};

Made made_by(const Consumer& consumer) {
  Made made;
  for (const Pass& pass : consumer.passes) {
    for (const Delivery& delivery : pass.deliveries) {
      if (delivery.wait.end_ns < consumer.phases_begin_ns) continue;
      ++(delivery.made_known ? made.known : made.unknown);
      if (!delivery.made_known) continue;
      made.samples += delivery.made.samples;
      made.bytes += static_cast<double>(delivery.made.io.read_bytes) + static_cast<double>(delivery.received_bytes);
      made.opens += delivery.made.io.opens;
    }
  }
  return made;
}

/// By all processes of the job since the phases began; negative: not known.
double from_storage(const RunData& run, const Consumer& consumer) {
  double first = -1.0;
  double last = -1.0;
  for (const Tick& tick : run.log.ticks) {
    if (tick.t_ns < consumer.phases_begin_ns || tick.tree_read_bytes < 0) continue;
    last = static_cast<double>(tick.tree_read_bytes);
    if (first < 0.0) first = last;
  }
  return last - (first < 0.0 ? last + 1.0 : first);
}

}  // namespace

bool reads_no_file(const RunData& run, const Consumer& consumer) {
  if (consumer.phases_begin_ns == UINT64_MAX) return false;
  const bool mapped = std::any_of(run.processes.begin(), run.processes.end(),
                                  [](const auto& process) { return !process.mapped.empty(); });
  const Made made = made_by(consumer);
  if (mapped || made.known < k_fewest_without_file || made.unknown > made.known) return false;
  if (made.bytes > k_no_file_bytes_of_sample * made.samples || made.opens > k_no_file_opens_of_sample * made.samples)
    return false;
  const double stored = from_storage(run, consumer);
  return stored >= 0.0 && stored <= std::max(k_no_file_bytes_of_sample * made.samples, k_late_imports_bytes);
}

}  // namespace stallcast
