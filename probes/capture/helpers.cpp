#include "probes/capture/helpers.hpp"

#include <sys/stat.h>

#include <algorithm>

#include "probes/capture/phases/system_calls.hpp"
#include "probes/record/raw.hpp"

namespace stallcast::capture {
namespace {

constexpr auto k_relaxed = std::memory_order_relaxed;

/// Threads of this process: the folder of them has a link for each, and two of its own.
std::uint64_t thread_count() {
  struct stat tasks {};
  const record::raw::ErrnoKeeper keeper;
  if (raw::stat_at(AT_FDCWD, "/proc/self/task", &tasks) != 0) return 0;
  return tasks.st_nlink > 2 ? tasks.st_nlink - 2 : 0;
}

/// Threads may read side by side: the time in which any of them did, not the sum.
void add_time(Helpers& helpers, std::uint64_t begin_ns, std::uint64_t ns, std::atomic<std::uint64_t>& sum) {
  const std::uint64_t end_ns = begin_ns + ns;
  std::uint64_t until = helpers.until_ns.load(k_relaxed);
  while (until < end_ns) {
    if (!helpers.until_ns.compare_exchange_weak(until, end_ns, k_relaxed)) continue;
    sum.fetch_add(end_ns - std::max(until, begin_ns), k_relaxed);
    return;
  }
}

}  // namespace

void help_begin(Thread& thread) {
  Helpers& helpers = process().helpers;
  if (process().slot.load(std::memory_order_acquire) != nullptr) return;  // it trains: its threads have other work
  thread.batch.helped = 1;
  if (helpers.batches.fetch_add(1, k_relaxed) != 0) return;
  helpers.read_bytes.store(0, k_relaxed);
  helpers.read_ns.store(0, k_relaxed);
  helpers.meta_ns.store(0, k_relaxed);
  helpers.reads.store(0, k_relaxed);
  helpers.opens.store(0, k_relaxed);
  helpers.receives.store(0, k_relaxed);
  helpers.received_bytes.store(0, k_relaxed);
}

void help_read(const ReadEvent& event) {
  Helpers& helpers = process().helpers;
  helpers.read_bytes.fetch_add(event.bytes, k_relaxed);
  helpers.reads.fetch_add(event.reads, k_relaxed);
  add_time(helpers, event.begin_ns, event.ns, helpers.read_ns);
}

void help_receive(const ReadEvent& event) {
  process().helpers.received_bytes.fetch_add(event.bytes, k_relaxed);
  process().helpers.receives.fetch_add(event.reads, k_relaxed);
  help_read(event);
}

void help_open(std::uint64_t begin_ns, std::uint64_t ns) {
  Helpers& helpers = process().helpers;
  helpers.opens.fetch_add(1, k_relaxed);
  add_time(helpers, begin_ns, ns, helpers.meta_ns);
}

std::uint64_t take_help(Thread& thread, const Usage& now) {
  constexpr std::uint64_t k_own_threads = 2;  // the maker, and the queue's
  Helpers& helpers = process().helpers;
  if (thread.batch.helped == 0 || helpers.batches.load(k_relaxed) != 1) return 0;
  record::IoTotals& io = thread.batch.io;
  thread.batch.received_bytes += helpers.received_bytes.load(k_relaxed);
  thread.batch.receives += helpers.receives.load(k_relaxed);
  io.read_bytes += helpers.read_bytes.load(k_relaxed);
  io.read_ns += helpers.read_ns.load(k_relaxed);
  io.meta_ns += helpers.meta_ns.load(k_relaxed);
  io.reads += helpers.reads.load(k_relaxed);
  io.opens += helpers.opens.load(k_relaxed);
  if (thread_count() <= k_own_threads) return 0;
  const Usage& begin = thread.batch.at_begin;
  const std::uint64_t all_ns = now.process_cpu_ns - begin.process_cpu_ns;
  const std::uint64_t own_ns = now.cpu_ns - begin.cpu_ns;
  return all_ns > own_ns ? all_ns - own_ns : 0;
}

void help_end(Thread& thread) {
  if (thread.batch.helped == 0) return;
  thread.batch.helped = 0;
  process().helpers.batches.fetch_sub(1, k_relaxed);
}

}  // namespace stallcast::capture
