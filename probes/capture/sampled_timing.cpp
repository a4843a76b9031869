#include "probes/capture/sampled_timing.hpp"

namespace stallcast::capture {
namespace {

/// Samples of a thread before it may leave some untimed: until then nobody knows how long they are.
constexpr std::uint32_t k_warm_samples = 128;
/// A sample this long is always timed: timing costs below 0.3 % of it.
constexpr double k_long_ns = 1e6;
/// One sample in (this / its length) is timed, rounded down to a power of two: 8 of 1 ms, 32 of 0.25 ms and less. At 3
/// us a timing that is below 0.1 % of samples from 0.1 ms on.
constexpr double k_ns_per_timing = 8e6;
constexpr std::uint32_t k_longest_period = 32;
/// Above this share of its batches in which a thread neither runs nor waits for a core, it waits for storage, whose
/// times are too uneven for a few to stand for all.
constexpr double k_blocked_share = 0.1;
/// Weight of the newest batch in the running means.
constexpr double k_newest = 0.25;

void follow(double& mean, double value, bool first) {
  mean += (first ? 1.0 : k_newest) * (value - mean);
}

}  // namespace

void set_period(Thread& thread) {
  Pace& pace = thread.pace;
  pace.period = 1;
  if (pace.timed < k_warm_samples || pace.sample_ns >= k_long_ns || pace.blocked_share > k_blocked_share) return;
  while (pace.period < k_longest_period && pace.period * 2 * pace.sample_ns <= k_ns_per_timing) pace.period *= 2;
}

void note_timed(Thread& thread, std::uint64_t wall_ns) {
  Batch& batch = thread.batch;
  batch.timed += 1;
  batch.timed_wall_ns += wall_ns;
  batch.timed_read_ns += thread.sample.io.read_ns;
  batch.timed_meta_ns += thread.sample.io.meta_ns;
}

void complete_times(Thread& thread, record::IoTotals& io, std::uint64_t wall_ns, std::uint64_t blocked_ns) {
  Pace& pace = thread.pace;
  const Batch& batch = thread.batch;
  const bool first = pace.timed == 0;
  // Of every batch: storage that begins to be waited for must not wait for a timed sample to be noticed.
  if (wall_ns > 0) {
    follow(pace.blocked_share, static_cast<double>(blocked_ns) / static_cast<double>(wall_ns), first);
  }
  if (batch.timed > 0) {
    const double timed = batch.timed;
    follow(pace.sample_ns, static_cast<double>(batch.timed_wall_ns) / timed, first);
    follow(pace.read_ns, static_cast<double>(batch.timed_read_ns) / timed, first);
    follow(pace.meta_ns, static_cast<double>(batch.timed_meta_ns) / timed, first);
    pace.timed += batch.timed;
  }
  if (batch.samples <= batch.timed) return;
  // A batch too small to hold a timed sample takes what this thread's latest ones took.
  const double untimed = batch.samples - batch.timed;
  const double read_ns = batch.timed > 0 ? static_cast<double>(batch.timed_read_ns) / batch.timed : pace.read_ns;
  const double meta_ns = batch.timed > 0 ? static_cast<double>(batch.timed_meta_ns) / batch.timed : pace.meta_ns;
  io.read_ns += static_cast<std::uint64_t>(untimed * read_ns);
  io.meta_ns += static_cast<std::uint64_t>(untimed * meta_ns);
}

}  // namespace stallcast::capture
