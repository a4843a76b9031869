#include <sys/resource.h>

#include <ctime>

#include "core/clock.hpp"
#include "probes/capture/fd_table.hpp"
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

/// Out of the way of the numbers that the guest's own descriptors get.
int move_up(int fd) {
  for (const int lowest : {800, 200}) {
    const auto moved = static_cast<int>(::syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, lowest));
    if (moved < 0) continue;
    raw::close_fd(fd);
    return moved;
  }
  raw::close_fd(fd);
  return -1;
}

/// Opened once per thread, because opening costs five times what reading does. The guest may close it (daemons close
/// all they find), and the number may then be somebody else's: the descriptor table knows.
bool schedstat_is_ours(const Thread& thread) {
  const FdEntry* entry = fd_entry(thread.schedstat_fd);
  return entry != nullptr && entry->kind.load(std::memory_order_relaxed) == FdKind::ours &&
         entry->file_id.load(std::memory_order_relaxed) == thread.out.thread_id;
}

void open_schedstat(Thread& thread) {
  thread.schedstat_fd = -1;
  const int opened = raw::open_file("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC, 0);
  if (opened < 0) return;
  const int fd = move_up(opened);
  if (fd < 0) return;
  if (fd_entry(fd) == nullptr) {
    raw::close_fd(fd);
    return;
  }
  set_fd(fd, FdKind::ours, thread.out.thread_id, false);
  thread.schedstat_fd = fd;
}

std::uint64_t run_delay_ns(Thread& thread) {
  if (thread.schedstat_fd == 0) open_schedstat(thread);
  if (thread.schedstat_fd < 0) return k_unknown;
  if (!schedstat_is_ours(thread)) {
    thread.schedstat_fd = -1;
    return k_unknown;
  }
  char text[96];
  const ssize_t bytes = raw::read_at(thread.schedstat_fd, text, sizeof(text), 0);
  return bytes > 0 ? second_number(text, text + bytes) : k_unknown;
}

}  // namespace

Usage usage_now(Thread& thread) {
  rusage counters{};
  ::syscall(SYS_getrusage, RUSAGE_THREAD, &counters);
  return {.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID),
          .run_delay_ns = run_delay_ns(thread),
          .major_faults = static_cast<std::uint64_t>(counters.ru_majflt)};
}

void close_usage(Thread& thread) {
  if (thread.schedstat_fd > 0 && schedstat_is_ours(thread)) {
    take_fd(thread.schedstat_fd);
    raw::close_fd(thread.schedstat_fd);
  }
  thread.schedstat_fd = 0;
}

}  // namespace stallcast::capture
