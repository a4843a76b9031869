/// What ends or copies a descriptor: close, dup, fcntl. The descriptor table follows.
#include <dirent.h>

#include <cstdarg>

#include "probes/capture/hooks/open_hook.hpp"

namespace stallcast::capture {
namespace {

using FdFn = int(int);
using CloseRangeFn = int(unsigned, unsigned, int);
using ClosefromFn = void(int);
using ClosedirFn = int(DIR*);
using Dup2Fn = int(int, int);
using Dup3Fn = int(int, int, int);
using FcntlFn = int(int, int, ...);

constexpr int k_close_range_cloexec = 4;  // only marks descriptors; missing in older headers

/// `copy` is now a duplicate of `fd`.
int copied(int fd, int copy) {
  if (copy >= 0 && copy != fd && awake() && owns_memory(t_thread)) copy_fd(fd, copy);
  return copy;
}

/// A dup onto `target` closes what was there without calling close().
template <class Call>
int copy_over(int fd, int target, Call call) {
  if (fd == target || !awake()) return call();
  return copied(fd, close_through(target, call));
}

int fcntl_as(Symbol symbol, int fd, int command, void* argument) {
  auto* real = next<FcntlFn>(symbol);
  const int result =
      real != nullptr ? real(fd, command, argument) : static_cast<int>(::syscall(SYS_fcntl, fd, command, argument));
  return command == F_DUPFD || command == F_DUPFD_CLOEXEC ? copied(fd, result) : result;
}

}  // namespace

STALLCAST_HOOK(int, close, "close", (int fd)) {
  auto* real = next<FdFn>(Symbol::close);
  return close_through(fd, [=] { return real != nullptr ? real(fd) : record::raw::close_fd(fd); });
}

STALLCAST_HOOK(int, close_range, "close_range", (unsigned first, unsigned last, int flags)) {
  if (awake() && (flags & k_close_range_cloexec) == 0 && owns_memory(t_thread)) forget_fds(first, last);
  auto* real = next<CloseRangeFn>(Symbol::close_range);
  return real != nullptr ? real(first, last, flags) : static_cast<int>(::syscall(SYS_close_range, first, last, flags));
}

STALLCAST_HOOK(void, closefrom, "closefrom", (int first)) {
  const unsigned from = first > 0 ? static_cast<unsigned>(first) : 0;
  if (awake() && owns_memory(t_thread)) forget_fds(from, UINT32_MAX);
  auto* real = next<ClosefromFn>(Symbol::closefrom);
  if (real != nullptr) {
    real(first);
  } else {
    ::syscall(SYS_close_range, from, UINT32_MAX, 0);
  }
}

STALLCAST_HOOK(int, closedir, "closedir", (DIR * folder)) {
  if (awake() && folder != nullptr) about_to_close(dirfd(folder));
  return next<ClosedirFn>(Symbol::closedir)(folder);
}

STALLCAST_HOOK(int, dup, "dup", (int fd)) {
  auto* real = next<FdFn>(Symbol::dup);
  return copied(fd, real != nullptr ? real(fd) : static_cast<int>(::syscall(SYS_dup, fd)));
}

STALLCAST_HOOK(int, dup2, "dup2", (int fd, int target)) {
  auto* real = next<Dup2Fn>(Symbol::dup2);
  return copy_over(fd, target, [=] {
    if (real != nullptr) return real(fd, target);
    return static_cast<int>(fd == target ? ::syscall(SYS_fcntl, fd, F_GETFD) : ::syscall(SYS_dup3, fd, target, 0));
  });
}

STALLCAST_HOOK(int, dup3, "dup3", (int fd, int target, int flags)) {
  auto* real = next<Dup3Fn>(Symbol::dup3);
  return copy_over(fd, target, [=] {
    return real != nullptr ? real(fd, target, flags) : static_cast<int>(::syscall(SYS_dup3, fd, target, flags));
  });
}

// A third argument that the caller did not give is read from a register and ignored by the kernel, as libc does it.
STALLCAST_HOOK(int, fcntl, "fcntl", (int fd, int command, ...)) {
  va_list arguments;
  va_start(arguments, command);
  void* argument = va_arg(arguments, void*);  // NOLINT(cppcoreguidelines-pro-type-vararg)
  va_end(arguments);
  return fcntl_as(Symbol::fcntl, fd, command, argument);
}

STALLCAST_HOOK(int, fcntl64, "fcntl64", (int fd, int command, ...)) {
  va_list arguments;
  va_start(arguments, command);
  void* argument = va_arg(arguments, void*);  // NOLINT(cppcoreguidelines-pro-type-vararg)
  va_end(arguments);
  return fcntl_as(Symbol::fcntl64, fd, command, argument);
}

}  // namespace stallcast::capture
