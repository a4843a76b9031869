#include <sys/resource.h>

#include <algorithm>
#include <ctime>

#include "core/clock.hpp"
#include "probes/capture/kept_fd.hpp"
#include "probes/capture/process.hpp"
#include "probes/capture/thread.hpp"
#include "probes/record/raw.hpp"

namespace stallcast::capture {
namespace {

namespace raw = record::raw;

constexpr std::uint64_t k_unknown = UINT64_MAX;

/// Second number of "<ns on cpu> <ns runnable but waiting> <timeslices>".
std::uint64_t second_number(const char* text, const char* end) {
  while (text != end && *text != ' ') ++text;
  if (text == end) return k_unknown;
  std::uint64_t value = 0;
  for (++text; text != end && *text >= '0' && *text <= '9'; ++text) {
    value = value * 10 + static_cast<std::uint64_t>(*text - '0');
  }
  return value;
}

std::uint64_t read_run_delay(Thread& thread) {
  // Opened once per thread, because opening costs five times what reading does.
  if (thread.schedstat_fd == 0) thread.schedstat_fd = open_kept("/proc/thread-self/schedstat", thread.out.thread_id);
  if (thread.schedstat_fd < 0) return k_unknown;
  if (!is_kept(thread.schedstat_fd, thread.out.thread_id)) {
    thread.schedstat_fd = -1;
    return k_unknown;
  }
  char text[96];
  const ssize_t bytes = raw::read_at(thread.schedstat_fd, text, sizeof(text), 0);
  return bytes > 0 ? second_number(text, text + bytes) : k_unknown;
}

/// A thread waits for a core only after it has been switched away from: until then the answer stays what it was, and
/// reading it, the dearest of the three calls, is saved.
std::uint64_t run_delay_ns(Thread& thread, std::uint64_t switches) {
  if (thread.run_delay_read != 0 && thread.run_delay_switches == switches) return thread.run_delay_ns;
  thread.run_delay_ns = read_run_delay(thread);
  thread.run_delay_switches = switches;
  thread.run_delay_read = 1;
  return thread.run_delay_ns;
}

std::uint64_t nanoseconds(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000ULL + static_cast<std::uint64_t>(time.tv_usec) * 1'000;
}

}  // namespace

Usage usage_now(Thread& thread) {
  rusage counters{};
  rusage children{};
  ::syscall(SYS_getrusage, RUSAGE_THREAD, &counters);
  ::syscall(SYS_getrusage, RUSAGE_CHILDREN, &children);
  return {.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID),
          .process_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID),
          .ended_children_ns = nanoseconds(children.ru_utime) + nanoseconds(children.ru_stime),
          .run_delay_ns = run_delay_ns(thread, static_cast<std::uint64_t>(counters.ru_nvcsw + counters.ru_nivcsw)),
          .system_ns = nanoseconds(counters.ru_stime),
          .major_faults = static_cast<std::uint64_t>(counters.ru_majflt)};
}

std::uint64_t claim_children_ns(const Usage& begin, const Usage& end) {
  std::atomic<std::uint64_t>& claimed = process().children_claimed_ns;
  std::uint64_t until = claimed.load(std::memory_order_relaxed);
  while (until < end.ended_children_ns) {
    if (!claimed.compare_exchange_weak(until, end.ended_children_ns, std::memory_order_relaxed)) continue;
    return end.ended_children_ns - std::max(until, begin.ended_children_ns);
  }
  return 0;
}

void close_usage(Thread& thread) {
  if (thread.schedstat_fd > 0) close_kept(thread.schedstat_fd, thread.out.thread_id);
  thread.schedstat_fd = 0;
}

}  // namespace stallcast::capture
