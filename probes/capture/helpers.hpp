/// Threads that a sample's code starts in a worker process: a pool that decodes several views, OpenCV's own. What they
/// read and compute while the one batch of that process is being made is the batch's. In the training process, and
/// where several batches are made at once, nobody can say whose it is: it counts as read elsewhere.
#pragma once

#include "probes/capture/account.hpp"
#include "probes/capture/process.hpp"
#include "probes/capture/thread.hpp"

namespace stallcast::capture {

/// Whether what another thread does now belongs to a batch.
inline bool helps_a_batch() {
  return process().helpers.batches.load(std::memory_order_relaxed) == 1;
}

void help_begin(Thread& thread);
void help_read(const ReadEvent& event);
void help_receive(const ReadEvent& event);
void help_open(std::uint64_t begin_ns, std::uint64_t ns);

/// Adds what was read for this thread's batch to its totals. The CPU time of all threads but this one since the batch
/// began, in nanoseconds; 0 where the process has none but the maker and the one that sends batches away.
std::uint64_t take_help(Thread& thread, const Usage& now);

/// This thread's batch is made, or was given up.
void help_end(Thread& thread);

}  // namespace stallcast::capture
