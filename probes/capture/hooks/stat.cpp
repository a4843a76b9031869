/// stat and its relatives: timed inside samples and batches only. What the application learns about an open file (its
/// kind, its size) is learned along with it, so that we need not ask.
#include <sys/sysmacros.h>

#include "probes/capture/hooks/open_hook.hpp"

namespace stallcast::capture {
namespace {

using StatFn = int(const char*, struct stat*);
using FstatFn = int(int, struct stat*);
using FstatatFn = int(int, const char*, struct stat*, int);
using XstatFn = int(int, const char*, struct stat*);
using FxstatFn = int(int, int, struct stat*);
using FxstatatFn = int(int, int, const char*, struct stat*, int);
using StatxFn = int(int, const char*, int, unsigned, struct statx*);

/// Calls `call` as one metadata operation.
template <class Call>
int stat_through(Call call) {
  if (!awake()) return call();
  Thread* thread = recording_thread();
  const std::uint64_t begin_ns = metadata_clock(thread);
  const int result = call();
  if (thread == nullptr || !counts_metadata(*thread)) return result;
  count_metadata(*thread, begin_ns != 0 ? monotonic_ns() - begin_ns : 0, 1);
  return result;
}

template <class Call>
int fstat_through(int fd, struct stat* status, Call call) {
  const int result = stat_through(call);
  if (result == 0 && awake()) {
    learn(fd, status->st_mode, static_cast<std::uint64_t>(status->st_size), status->st_dev);
  }
  return result;
}

/// fstatat with an empty path asks about the descriptor itself.
bool asks_about_fd(const char* path, int flags) {
  return (flags & AT_EMPTY_PATH) != 0 && (path == nullptr || *path == '\0');
}

int raw_stat_at(int folder, const char* path, struct stat* status, int flags) {
  return static_cast<int>(::syscall(SYS_newfstatat, folder, path, status, flags));
}

int stat_as(Symbol symbol, const char* path, struct stat* status, int raw_flags) {
  auto* real = next<StatFn>(symbol);
  return stat_through(
      [=] { return real != nullptr ? real(path, status) : raw_stat_at(AT_FDCWD, path, status, raw_flags); });
}

int fstat_as(Symbol symbol, int fd, struct stat* status) {
  auto* real = next<FstatFn>(symbol);
  return fstat_through(fd, status,
                       [=] { return real != nullptr ? real(fd, status) : record::raw::stat_fd(fd, status); });
}

int fstatat_as(Symbol symbol, int folder, const char* path, struct stat* status, int flags) {
  auto* real = next<FstatatFn>(symbol);
  const auto call = [=] {
    return real != nullptr ? real(folder, path, status, flags) : raw_stat_at(folder, path, status, flags);
  };
  return asks_about_fd(path, flags) ? fstat_through(folder, status, call) : stat_through(call);
}

int xstat_as(Symbol symbol, int version, const char* path, struct stat* status, int raw_flags) {
  auto* real = next<XstatFn>(symbol);
  return stat_through(
      [=] { return real != nullptr ? real(version, path, status) : raw_stat_at(AT_FDCWD, path, status, raw_flags); });
}

int fxstat_as(Symbol symbol, int version, int fd, struct stat* status) {
  auto* real = next<FxstatFn>(symbol);
  return fstat_through(fd, status,
                       [=] { return real != nullptr ? real(version, fd, status) : record::raw::stat_fd(fd, status); });
}

int fxstatat_as(Symbol symbol, int version, int folder, const char* path, struct stat* status, int flags) {
  auto* real = next<FxstatatFn>(symbol);
  const auto call = [=] {
    return real != nullptr ? real(version, folder, path, status, flags) : raw_stat_at(folder, path, status, flags);
  };
  return asks_about_fd(path, flags) ? fstat_through(folder, status, call) : stat_through(call);
}

}  // namespace

STALLCAST_HOOK(int, stat, "stat", (const char* path, struct stat* status)) {
  return stat_as(Symbol::stat, path, status, 0);
}

STALLCAST_HOOK(int, stat64, "stat64", (const char* path, struct stat* status)) {
  return stat_as(Symbol::stat64, path, status, 0);
}

STALLCAST_HOOK(int, lstat, "lstat", (const char* path, struct stat* status)) {
  return stat_as(Symbol::lstat, path, status, AT_SYMLINK_NOFOLLOW);
}

STALLCAST_HOOK(int, lstat64, "lstat64", (const char* path, struct stat* status)) {
  return stat_as(Symbol::lstat64, path, status, AT_SYMLINK_NOFOLLOW);
}

STALLCAST_HOOK(int, fstat, "fstat", (int fd, struct stat* status)) {
  return fstat_as(Symbol::fstat, fd, status);
}

STALLCAST_HOOK(int, fstat64, "fstat64", (int fd, struct stat* status)) {
  return fstat_as(Symbol::fstat64, fd, status);
}

STALLCAST_HOOK(int, fstatat, "fstatat", (int folder, const char* path, struct stat* status, int flags)) {
  return fstatat_as(Symbol::fstatat, folder, path, status, flags);
}

STALLCAST_HOOK(int, fstatat64, "fstatat64", (int folder, const char* path, struct stat* status, int flags)) {
  return fstatat_as(Symbol::fstatat64, folder, path, status, flags);
}

STALLCAST_HOOK(int, xstat, "__xstat", (int version, const char* path, struct stat* status)) {
  return xstat_as(Symbol::xstat, version, path, status, 0);
}

STALLCAST_HOOK(int, xstat64, "__xstat64", (int version, const char* path, struct stat* status)) {
  return xstat_as(Symbol::xstat64, version, path, status, 0);
}

STALLCAST_HOOK(int, lxstat, "__lxstat", (int version, const char* path, struct stat* status)) {
  return xstat_as(Symbol::lxstat, version, path, status, AT_SYMLINK_NOFOLLOW);
}

STALLCAST_HOOK(int, lxstat64, "__lxstat64", (int version, const char* path, struct stat* status)) {
  return xstat_as(Symbol::lxstat64, version, path, status, AT_SYMLINK_NOFOLLOW);
}

STALLCAST_HOOK(int, fxstat, "__fxstat", (int version, int fd, struct stat* status)) {
  return fxstat_as(Symbol::fxstat, version, fd, status);
}

STALLCAST_HOOK(int, fxstat64, "__fxstat64", (int version, int fd, struct stat* status)) {
  return fxstat_as(Symbol::fxstat64, version, fd, status);
}

STALLCAST_HOOK(int, fxstatat, "__fxstatat",
               (int version, int folder, const char* path, struct stat* status, int flags)) {
  return fxstatat_as(Symbol::fxstatat, version, folder, path, status, flags);
}

STALLCAST_HOOK(int, fxstatat64, "__fxstatat64",
               (int version, int folder, const char* path, struct stat* status, int flags)) {
  return fxstatat_as(Symbol::fxstatat64, version, folder, path, status, flags);
}

STALLCAST_HOOK(int, statx, "statx", (int folder, const char* path, int flags, unsigned mask, struct statx* status)) {
  auto* real = next<StatxFn>(Symbol::statx);
  const int result = stat_through([=] {
    return real != nullptr ? real(folder, path, flags, mask, status)
                           : static_cast<int>(::syscall(SYS_statx, folder, path, flags, mask, status));
  });
  constexpr unsigned k_needed = STATX_TYPE | STATX_SIZE;
  if (result == 0 && awake() && asks_about_fd(path, flags) && (status->stx_mask & k_needed) == k_needed) {
    learn(folder, status->stx_mode, status->stx_size, makedev(status->stx_dev_major, status->stx_dev_minor));
  }
  return result;
}

}  // namespace stallcast::capture
