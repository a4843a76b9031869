/// recv and its relatives, and the wait for one socket: data that come over the network, from an object store, a web
/// server or a database. Reads of sockets with read() are in hooks_read.cpp.
#include <poll.h>
#include <sys/socket.h>

#include "probes/capture/hooks/hook.hpp"

namespace stallcast::capture {
namespace {

using RecvFn = ssize_t(int, void*, std::size_t, int);
using RecvChkFn = ssize_t(int, void*, std::size_t, std::size_t, int);
using RecvfromFn = ssize_t(int, void*, std::size_t, int, sockaddr*, socklen_t*);
using RecvfromChkFn = ssize_t(int, void*, std::size_t, std::size_t, int, sockaddr*, socklen_t*);
using RecvmsgFn = ssize_t(int, msghdr*, int);
using PollFn = int(pollfd*, nfds_t, int);
using PollChkFn = int(pollfd*, nfds_t, int, std::size_t);

/// What is only looked at is received later.
template <class Call>
inline ssize_t receive_through(int fd, int flags, Call call) {
  return (flags & MSG_PEEK) != 0 ? call() : read_through(fd, {-1, 0}, call);
}

/// A client with a time limit waits here and not in recv. One that waits for several descriptors serves more than this
/// thread's sample.
template <class Call>
inline int wait_through(const pollfd* descriptors, nfds_t count, Call call) {
  if (count != 1 || descriptors == nullptr || !awake() || t_thread.busy != 0) return call();
  const int fd = descriptors->fd;
  if (fd < 0 || kind_of(fd) != FdKind::socket) return call();
  Thread* thread = recording_thread();
  if (thread == nullptr || !counts_metadata(*thread) || !is_timed(*thread, FdKind::socket)) return call();
  const std::uint64_t begin_ns = monotonic_ns();
  const int ready = call();
  count_read(*thread, {fd, FdKind::socket, begin_ns, monotonic_ns() - begin_ns, 0, 0});
  return ready;
}

ssize_t receive_from(int fd, void* buffer, std::size_t bytes, int flags, sockaddr* from, socklen_t* length) {
  return ::syscall(SYS_recvfrom, fd, buffer, bytes, flags, from, length);
}

/// By ppoll: not every processor's kernel has poll.
int poll_kernel(pollfd* descriptors, nfds_t count, int timeout_ms) {
  timespec limit = {timeout_ms / 1000, (timeout_ms % 1000) * 1'000'000L};
  timespec* given = timeout_ms < 0 ? nullptr : &limit;
  return static_cast<int>(::syscall(SYS_ppoll, descriptors, count, given, nullptr, std::size_t{0}));
}

}  // namespace

STALLCAST_HOOK(ssize_t, recv, "recv", (int fd, void* buffer, std::size_t bytes, int flags)) {
  auto* real = next<RecvFn>(Symbol::recv);
  return receive_through(fd, flags, [=]() -> ssize_t {
    return real != nullptr ? real(fd, buffer, bytes, flags) : receive_from(fd, buffer, bytes, flags, nullptr, nullptr);
  });
}

STALLCAST_HOOK(ssize_t, recvfrom, "recvfrom",
               (int fd, void* buffer, std::size_t bytes, int flags, sockaddr* from, socklen_t* length)) {
  auto* real = next<RecvfromFn>(Symbol::recvfrom);
  return receive_through(fd, flags, [=]() -> ssize_t {
    return real != nullptr ? real(fd, buffer, bytes, flags, from, length)
                           : receive_from(fd, buffer, bytes, flags, from, length);
  });
}

STALLCAST_HOOK(ssize_t, recvmsg, "recvmsg", (int fd, msghdr* message, int flags)) {
  auto* real = next<RecvmsgFn>(Symbol::recvmsg);
  return receive_through(fd, flags, [=]() -> ssize_t {
    return real != nullptr ? real(fd, message, flags) : ::syscall(SYS_recvmsg, fd, message, flags);
  });
}

// As __read_chk: too small a buffer ends the process in libc.
STALLCAST_HOOK(ssize_t, recv_chk, "__recv_chk",
               (int fd, void* buffer, std::size_t bytes, std::size_t room, int flags)) {
  auto* real = next<RecvChkFn>(Symbol::recv_chk);
  return receive_through(fd, flags, [=]() -> ssize_t {
    if (real != nullptr) return real(fd, buffer, bytes, room, flags);
    if (bytes > room) __builtin_trap();
    return receive_from(fd, buffer, bytes, flags, nullptr, nullptr);
  });
}

STALLCAST_HOOK(ssize_t, recvfrom_chk, "__recvfrom_chk",
               (int fd, void* buffer, std::size_t bytes, std::size_t room, int flags, sockaddr* from,
                socklen_t* length)) {
  auto* real = next<RecvfromChkFn>(Symbol::recvfrom_chk);
  return receive_through(fd, flags, [=]() -> ssize_t {
    if (real != nullptr) return real(fd, buffer, bytes, room, flags, from, length);
    if (bytes > room) __builtin_trap();
    return receive_from(fd, buffer, bytes, flags, from, length);
  });
}

STALLCAST_HOOK(int, poll, "poll", (pollfd * descriptors, nfds_t count, int timeout_ms)) {
  auto* real = next<PollFn>(Symbol::poll);
  return wait_through(descriptors, count, [=]() -> int {
    return real != nullptr ? real(descriptors, count, timeout_ms) : poll_kernel(descriptors, count, timeout_ms);
  });
}

STALLCAST_HOOK(int, poll_chk, "__poll_chk", (pollfd * descriptors, nfds_t count, int timeout_ms, std::size_t room)) {
  auto* real = next<PollChkFn>(Symbol::poll_chk);
  return wait_through(descriptors, count, [=]() -> int {
    if (real != nullptr) return real(descriptors, count, timeout_ms, room);
    if (room / sizeof(pollfd) < count) __builtin_trap();
    return poll_kernel(descriptors, count, timeout_ms);
  });
}

}  // namespace stallcast::capture
