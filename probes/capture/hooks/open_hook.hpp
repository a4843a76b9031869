/// What every way of opening a file has in common.
#pragma once

#include "probes/capture/hooks/hook.hpp"
#include "probes/capture/paths.hpp"
#include "probes/capture/phases/phase.hpp"
#include "probes/capture/sampled_timing.hpp"

namespace stallcast::capture {

/// `fd` now stands for `path` (relative to `folder`, or whole): remembered, counted, and named in the recording at
/// first sight.
void note_opened(int fd, int folder, const char* path, int flags, std::uint64_t begin_ns, std::uint64_t ns);

/// `fd` was closed, or is about to be closed by something that closes more than it.
inline FdTotals about_to_close(int fd) {
  return owns_memory(t_thread) ? take_fd(fd) : FdTotals{};
}

/// A clock reading where this thread's metadata time counts, else 0.
inline std::uint64_t metadata_clock(const Thread* thread) {
  return thread != nullptr && is_timing(*thread) && counts_metadata(*thread) ? monotonic_ns() : 0;
}

/// Calls `call`, which opens a file and returns a descriptor or -1.
template <class Call>
inline int open_through(int folder, const char* path, int flags, Call call) {
  if (!awake() || t_thread.busy != 0 || path == nullptr) return call();
  const std::uint64_t begin_ns = metadata_clock(recording_thread());
  const int fd = call();
  const std::uint64_t ns = begin_ns != 0 ? monotonic_ns() - begin_ns : 0;
  if (fd >= 0) {
    note_opened(fd, folder, path, flags, begin_ns, ns);
    if (in_phase()) file_opened(fd, path, flags);
  } else if (begin_ns != 0) {
    count_metadata(t_thread, ns, 0);
  }
  return fd;
}

/// Calls `call`, which closes `fd`, and writes the file's record. `close` in a signal handler still forgets the file.
template <class Call>
inline auto close_through(int fd, Call call) {
  if (!awake() || fd < 0) return call();
  const FdTotals totals = about_to_close(fd);
  Thread* thread = totals.kind == FdKind::regular ? recording_thread() : nullptr;
  if (thread == nullptr) return call();
  const std::uint64_t begin_ns = metadata_clock(thread);
  const auto result = call();
  count_close(*thread, fd, totals, begin_ns != 0 ? monotonic_ns() - begin_ns : 0);
  return result;
}

}  // namespace stallcast::capture
