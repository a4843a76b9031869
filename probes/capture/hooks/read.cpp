/// read and its relatives on descriptors.
#include <sys/uio.h>

#include "probes/capture/hooks/hook.hpp"

namespace stallcast::capture {
namespace {

using ReadFn = ssize_t(int, void*, std::size_t);
using PreadFn = ssize_t(int, void*, std::size_t, off_t);
using ReadvFn = ssize_t(int, const iovec*, int);
using PreadvFn = ssize_t(int, const iovec*, int, off_t);
using Preadv2Fn = ssize_t(int, const iovec*, int, off_t, int);
using ReadChkFn = ssize_t(int, void*, std::size_t, std::size_t);
using PreadChkFn = ssize_t(int, void*, std::size_t, off_t, std::size_t);

/// What a vector asks for; only phases and emulated storage want to know.
std::size_t bytes_in(const iovec* parts, int count) {
  if ((!in_phase() && !emulating()) || parts == nullptr) return 0;
  std::size_t bytes = 0;
  for (int i = 0; i < count; ++i) bytes += parts[i].iov_len;
  return bytes;
}

ssize_t pread_as(Symbol symbol, int fd, void* buffer, std::size_t bytes, off_t offset) {
  auto* real = next<PreadFn>(symbol);
  return read_through(fd, {offset, bytes}, [=] {
    return real != nullptr ? real(fd, buffer, bytes, offset) : record::raw::read_at(fd, buffer, bytes, offset);
  });
}

ssize_t preadv_as(Symbol symbol, int fd, const iovec* parts, int count, off_t offset) {
  auto* real = next<PreadvFn>(symbol);
  return read_through(fd, {offset, bytes_in(parts, count)}, [=]() -> ssize_t {
    return real != nullptr ? real(fd, parts, count, offset) : ::syscall(SYS_preadv, fd, parts, count, offset, 0);
  });
}

ssize_t preadv2_as(Symbol symbol, int fd, const iovec* parts, int count, off_t offset, int flags) {
  auto* real = next<Preadv2Fn>(symbol);
  return read_through(fd, {offset, bytes_in(parts, count)}, [=]() -> ssize_t {
    return real != nullptr ? real(fd, parts, count, offset, flags)
                           : ::syscall(SYS_preadv2, fd, parts, count, offset, 0, flags);
  });
}

ssize_t pread_chk_as(Symbol symbol, int fd, void* buffer, std::size_t bytes, off_t offset, std::size_t room) {
  auto* real = next<PreadChkFn>(symbol);
  return read_through(fd, {offset, bytes}, [=] {
    if (real != nullptr) return real(fd, buffer, bytes, offset, room);
    if (bytes > room) __builtin_trap();
    return record::raw::read_at(fd, buffer, bytes, offset);
  });
}

}  // namespace

STALLCAST_HOOK(ssize_t, read, "read", (int fd, void* buffer, std::size_t bytes)) {
  auto* real = next<ReadFn>(Symbol::read);
  return read_through(fd, {-1, bytes}, [=]() -> ssize_t {
    return real != nullptr ? real(fd, buffer, bytes) : ::syscall(SYS_read, fd, buffer, bytes);
  });
}

STALLCAST_HOOK(ssize_t, pread, "pread", (int fd, void* buffer, std::size_t bytes, off_t offset)) {
  return pread_as(Symbol::pread, fd, buffer, bytes, offset);
}

STALLCAST_HOOK(ssize_t, pread64, "pread64", (int fd, void* buffer, std::size_t bytes, off_t offset)) {
  return pread_as(Symbol::pread64, fd, buffer, bytes, offset);
}

STALLCAST_HOOK(ssize_t, readv, "readv", (int fd, const iovec* parts, int count)) {
  auto* real = next<ReadvFn>(Symbol::readv);
  return read_through(fd, {-1, bytes_in(parts, count)}, [=]() -> ssize_t {
    return real != nullptr ? real(fd, parts, count) : ::syscall(SYS_readv, fd, parts, count);
  });
}

STALLCAST_HOOK(ssize_t, preadv, "preadv", (int fd, const iovec* parts, int count, off_t offset)) {
  return preadv_as(Symbol::preadv, fd, parts, count, offset);
}

STALLCAST_HOOK(ssize_t, preadv64, "preadv64", (int fd, const iovec* parts, int count, off_t offset)) {
  return preadv_as(Symbol::preadv64, fd, parts, count, offset);
}

STALLCAST_HOOK(ssize_t, preadv2, "preadv2", (int fd, const iovec* parts, int count, off_t offset, int flags)) {
  return preadv2_as(Symbol::preadv2, fd, parts, count, offset, flags);
}

STALLCAST_HOOK(ssize_t, preadv64v2, "preadv64v2", (int fd, const iovec* parts, int count, off_t offset, int flags)) {
  return preadv2_as(Symbol::preadv64v2, fd, parts, count, offset, flags);
}

// The checked variants end the process where the buffer is too small: that is libc's to do, with its message.
STALLCAST_HOOK(ssize_t, read_chk, "__read_chk", (int fd, void* buffer, std::size_t bytes, std::size_t room)) {
  auto* real = next<ReadChkFn>(Symbol::read_chk);
  return read_through(fd, {-1, bytes}, [=]() -> ssize_t {
    if (real != nullptr) return real(fd, buffer, bytes, room);
    if (bytes > room) __builtin_trap();
    return ::syscall(SYS_read, fd, buffer, bytes);
  });
}

STALLCAST_HOOK(ssize_t, pread_chk, "__pread_chk",
               (int fd, void* buffer, std::size_t bytes, off_t offset, std::size_t room)) {
  return pread_chk_as(Symbol::pread_chk, fd, buffer, bytes, offset, room);
}

STALLCAST_HOOK(ssize_t, pread64_chk, "__pread64_chk",
               (int fd, void* buffer, std::size_t bytes, off_t offset, std::size_t room)) {
  return pread_chk_as(Symbol::pread64_chk, fd, buffer, bytes, offset, room);
}

}  // namespace stallcast::capture
