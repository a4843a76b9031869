/// System calls that only phases make; the others are in probes/record/raw.hpp.
#pragma once

#include <sys/prctl.h>

#include <ctime>

#include "probes/record/raw.hpp"

namespace stallcast::capture::raw {

using namespace record::raw;  // NOLINT(google-build-using-namespace): one vocabulary of system calls

inline int stat_at(int folder, const char* path, struct stat* out) {
  return static_cast<int>(::syscall(SYS_newfstatat, folder, path, out, 0));
}

inline off_t position(int fd) {
  return static_cast<off_t>(::syscall(SYS_lseek, fd, 0, SEEK_CUR));
}

/// `bytes` 0: to the end of the file. Gives an error number, not errno.
inline int advise_file(int fd, std::uint64_t offset, std::uint64_t bytes, int advice) {
  return static_cast<int>(::syscall(SYS_fadvise64, fd, offset, bytes, advice));
}

inline int in_core(void* address, std::size_t bytes, unsigned char* out) {
  return static_cast<int>(::syscall(SYS_mincore, address, bytes, out));
}

/// Sleeps until `end` of CLOCK_MONOTONIC; true if it was interrupted.
inline bool sleep_until(const timespec& end) {
  return ::syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &end, nullptr) != 0 && errno == EINTR;
}

/// Of the calling thread, in nanoseconds; 0 if it cannot be read.
inline unsigned long timer_slack_ns() {
  const long slack = ::syscall(SYS_prctl, PR_GET_TIMERSLACK, 0, 0, 0, 0);
  return slack > 0 ? static_cast<unsigned long>(slack) : 0;
}

inline void set_timer_slack(unsigned long ns) {
  ::syscall(SYS_prctl, PR_SET_TIMERSLACK, ns, 0, 0, 0);
}

}  // namespace stallcast::capture::raw
