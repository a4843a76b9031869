/// open and its relatives.
#include <cstdarg>

#include "probes/capture/hooks/open_hook.hpp"
#include "probes/capture/phases/maps.hpp"

namespace stallcast::capture {
namespace {

using OpenFn = int(const char*, int, ...);
using OpenatFn = int(int, const char*, int, ...);
using Open2Fn = int(const char*, int);
using Openat2Fn = int(int, const char*, int);
using CreatFn = int(const char*, mode_t);

/// Reads the mode, which a caller gives only where the flags can create a file.
#define STALLCAST_OPEN_MODE(mode, flags)                                                \
  mode_t mode = 0;                                                                      \
  if (((flags)&O_CREAT) != 0 || ((flags)&O_TMPFILE) == O_TMPFILE) {                     \
    va_list arguments;                                                                  \
    va_start(arguments, flags);                                                         \
    (mode) = va_arg(arguments, mode_t); /* NOLINT(cppcoreguidelines-pro-type-vararg) */ \
    va_end(arguments);                                                                  \
  }

int open_as(Symbol symbol, const char* path, int flags, mode_t mode) {
  auto* real = next<OpenFn>(symbol);
  return open_through(AT_FDCWD, path, flags, [=] {
    return real != nullptr ? real(path, flags, mode) : record::raw::open_file(path, flags, mode);
  });
}

int openat_as(Symbol symbol, int folder, const char* path, int flags, mode_t mode) {
  auto* real = next<OpenatFn>(symbol);
  return open_through(folder, path, flags, [=] {
    return real != nullptr ? real(folder, path, flags, mode)
                           : static_cast<int>(::syscall(SYS_openat, folder, path, flags, mode));
  });
}

int open_2_as(Symbol symbol, const char* path, int flags) {
  auto* real = next<Open2Fn>(symbol);
  return open_through(AT_FDCWD, path, flags,
                      [=] { return real != nullptr ? real(path, flags) : record::raw::open_file(path, flags, 0); });
}

int openat_2_as(Symbol symbol, int folder, const char* path, int flags) {
  auto* real = next<Openat2Fn>(symbol);
  return open_through(folder, path, flags, [=] {
    return real != nullptr ? real(folder, path, flags)
                           : static_cast<int>(::syscall(SYS_openat, folder, path, flags, 0));
  });
}

int creat_as(Symbol symbol, const char* path, mode_t mode) {
  constexpr int k_flags = O_CREAT | O_WRONLY | O_TRUNC;
  auto* real = next<CreatFn>(symbol);
  return open_through(AT_FDCWD, path, k_flags,
                      [=] { return real != nullptr ? real(path, mode) : record::raw::open_file(path, k_flags, mode); });
}

}  // namespace

void note_opened(int fd, int folder, const char* path, int flags, std::uint64_t begin_ns, std::uint64_t ns) {
  Thread& thread = t_thread;
  if (!owns_memory(thread)) return;
  const Opened opened = describe_open(path, flags);
  Thread* recorded = recording_thread();
  const bool listed = !opened.import || (recorded != nullptr && counts_metadata(thread));
  set_fd(fd, opened.ignored ? FdKind::ignored : FdKind::unknown, opened.file_id, listed);
  if (opened.import) mark_code(fd);
  if (emulating()) emulate_opened(fd, path, flags);
  if (!opened.import && !opened.ignored && !in_phase()) claim_opened(fd);
  if (recorded == nullptr || opened.ignored) return;
  bool unseen = false;
  if (opened.file_id != 0 && listed) {
    const Busy busy(thread);
    unseen = note_path(thread, opened.file_id, folder, path, opened.length, fd);
  }
  count_open(thread, {.fd = fd, .unseen = unseen, .file_id = opened.file_id, .begin_ns = begin_ns, .ns = ns});
}

STALLCAST_HOOK(int, open, "open", (const char* path, int flags, ...)) {
  STALLCAST_OPEN_MODE(mode, flags)
  return open_as(Symbol::open, path, flags, mode);
}

STALLCAST_HOOK(int, open64, "open64", (const char* path, int flags, ...)) {
  STALLCAST_OPEN_MODE(mode, flags)
  return open_as(Symbol::open64, path, flags, mode);
}

STALLCAST_HOOK(int, openat, "openat", (int folder, const char* path, int flags, ...)) {
  STALLCAST_OPEN_MODE(mode, flags)
  return openat_as(Symbol::openat, folder, path, flags, mode);
}

STALLCAST_HOOK(int, openat64, "openat64", (int folder, const char* path, int flags, ...)) {
  STALLCAST_OPEN_MODE(mode, flags)
  return openat_as(Symbol::openat64, folder, path, flags, mode);
}

STALLCAST_HOOK(int, open_2, "__open_2", (const char* path, int flags)) {
  return open_2_as(Symbol::open_2, path, flags);
}

STALLCAST_HOOK(int, open64_2, "__open64_2", (const char* path, int flags)) {
  return open_2_as(Symbol::open64_2, path, flags);
}

STALLCAST_HOOK(int, openat_2, "__openat_2", (int folder, const char* path, int flags)) {
  return openat_2_as(Symbol::openat_2, folder, path, flags);
}

STALLCAST_HOOK(int, openat64_2, "__openat64_2", (int folder, const char* path, int flags)) {
  return openat_2_as(Symbol::openat64_2, folder, path, flags);
}

STALLCAST_HOOK(int, creat, "creat", (const char* path, mode_t mode)) {
  return creat_as(Symbol::creat, path, mode);
}

STALLCAST_HOOK(int, creat64, "creat64", (const char* path, mode_t mode)) {
  return creat_as(Symbol::creat64, path, mode);
}

}  // namespace stallcast::capture
