/// Which samples are timed. Two clock readings around every call, a record per sample and one per file cost some 3 us a
/// sample: nothing beside a photo, 1.5 % of a sample that is made in 0.2 ms. Where samples are short and made without
/// waiting for storage, one in `period` is timed; the times of the others of its batch are estimated from it (a ratio
/// estimate: the batch's untimed samples times the mean of its timed ones). Opens, reads, stats and bytes are counted
/// in every sample, and every file gets its path record.
///
/// Which ones: those whose index hashes to a multiple of the period, a power of two. The choice has nothing to do with
/// what a sample costs, a later pass times the same ones (what is read for the first time can be told), and the
/// samples of the longest period are among those of every shorter one (analyzer/steps/timed_samples.hpp).
#pragma once

#include "probes/capture/fd_table.hpp"
#include "probes/capture/thread.hpp"

namespace stallcast::capture {

/// Chooses the period of the batch that begins.
void set_period(Thread& thread);

/// Whether the sample that begins is one of those that are timed.
inline bool is_sample_timed(Thread& thread, std::int64_t index) {
  const std::uint32_t period = thread.pace.period;
  if (__builtin_expect(period <= 1, 1)) return true;
  if (index < 0) return thread.pace.without_index++ % period == 0;
  return record::sample_hash(index) % period == 0;
}

/// Whether what this thread does now is timed: everything but the calls of a sample that is not.
inline bool is_timing(const Thread& thread) {
  return thread.sample.untimed == 0;
}

/// Whether a read of this kind is timed: streams always, their totals are the process's.
inline bool is_timed(const Thread& thread, FdKind kind) {
  return is_timing(thread) || kind == FdKind::stream;
}

/// A timed sample is complete.
void note_timed(Thread& thread, std::uint64_t wall_ns);

/// Estimates the times of the batch's untimed samples and adds them to `io`. `blocked_ns`: of the batch, neither
/// running nor waiting for a core.
void complete_times(Thread& thread, record::IoTotals& io, std::uint64_t wall_ns, std::uint64_t blocked_ns);

}  // namespace stallcast::capture
