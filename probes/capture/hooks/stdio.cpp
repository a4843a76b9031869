/// stdio. fread() goes around read() inside libc, so it is timed itself. Only a call that has to go to the kernel is
/// timed: what the buffer holds is served in a few nanoseconds, and its bytes are only added up.
///
/// getc, fscanf and their like are not interposed: a hook would cost several times what they do, and what refills
/// their buffer cannot be seen from outside libc. Bytes read by them alone are missing from the totals.
#include <cstdio>
#include <cstring>

#include "probes/capture/hooks/open_hook.hpp"
#include "probes/capture/phases/system_calls.hpp"

namespace stallcast::capture {
namespace {

using FopenFn = FILE*(const char*, const char*);
using FreopenFn = FILE*(const char*, const char*, FILE*);
using FcloseFn = int(FILE*);
using FreadFn = std::size_t(void*, std::size_t, std::size_t, FILE*);
using FreadChkFn = std::size_t(void*, std::size_t, std::size_t, std::size_t, FILE*);
using FgetsFn = char*(char*, int, FILE*);
using FgetsChkFn = char*(char*, std::size_t, int, FILE*);
using FseekFn = int(FILE*, long, int);
using FseekoFn = int(FILE*, off_t, int);
using GetlineFn = ssize_t(char**, std::size_t*, FILE*);
using GetdelimFn = ssize_t(char**, std::size_t*, int, FILE*);

/// Bytes of the file that lie in the stream's buffer, read or not: they end where its descriptor stands.
off_t held(const FILE* stream) {
  return stream->_IO_read_end - stream->_IO_read_base;
}

/// The descriptor of a stream without fileno(), which would set errno for a stream in memory; negative: none.
int fd_of(const FILE* stream) {
  return stream->_fileno;
}

std::size_t buffered(const FILE* stream) {
  return stream->_IO_read_ptr < stream->_IO_read_end
             ? static_cast<std::size_t>(stream->_IO_read_end - stream->_IO_read_ptr)
             : 0;
}

bool line_is_buffered(const FILE* stream, int end_of_line, std::size_t most) {
  const std::size_t bytes = buffered(stream);
  return bytes >= most || (bytes > 0 && memchr(stream->_IO_read_ptr, end_of_line, bytes) != nullptr);
}

int flags_of_mode(const char* mode) {
  if (strchr(mode, '+') != nullptr) return O_RDWR;
  return *mode == 'r' ? O_RDONLY : O_WRONLY;
}

/// Calls `call`, which reads from `stream` and returns how many bytes it took. `served`: from the buffer alone;
/// else about `wanted` bytes come from the file.
template <class Call>
std::size_t stream_through(FILE* stream, bool served, std::size_t wanted, Call call) {
  const int fd = fd_of(stream);
  Thread& own = t_thread;
  if (!awake() || own.busy != 0 || fd < 0) return call();
  const FdKind kind = kind_of(fd);
  if (kind != FdKind::regular && kind != FdKind::stream && kind != FdKind::socket) return call();
  const bool phased = in_phase() && !served && kind == FdKind::regular;
  if (phased) before_read(fd, {-1, wanted});
  const bool may_wait = emulating() && !served && kind == FdKind::regular;
  Thread* thread = recording_thread();
  const std::uint64_t begin_ns = thread != nullptr && !served && is_timed(*thread, kind) ? monotonic_ns() : 0;
  const EmulatedRead emulated = may_wait ? before_emulated(fd, -1, wanted) : k_not_emulated;
  std::size_t bytes = 0;
  {
    const Busy busy(own);  // a libc that reads through its own read() is counted once
    bytes = call();
  }
  if (emulated.fd >= 0) after_emulated(emulated, -1);
  if (phased) after_read();
  if (thread == nullptr) {
    if (bytes > 0 && kind == FdKind::regular) count_unrecorded(bytes);
  } else if (served) {
    if (bytes > 0) count_read(*thread, {fd, kind, 0, 0, bytes, 0});
  } else {
    count_read(*thread, {fd, kind, begin_ns, begin_ns != 0 ? monotonic_ns() - begin_ns : 0, bytes, 1});
  }
  return bytes;
}

FILE* fopen_as(Symbol symbol, const char* path, const char* mode) {
  auto* real = next<FopenFn>(symbol);
  if (real == nullptr) return nullptr;
  FILE* stream = nullptr;
  open_through(AT_FDCWD, path, mode != nullptr ? flags_of_mode(mode) : O_RDONLY, [&] {
    const Busy busy(t_thread);
    stream = real(path, mode);
    return stream != nullptr ? fd_of(stream) : -1;
  });
  return stream;
}

FILE* freopen_as(Symbol symbol, const char* path, const char* mode, FILE* stream) {
  auto* real = next<FreopenFn>(symbol);
  if (real == nullptr) return nullptr;
  if (awake()) about_to_close(fd_of(stream));
  FILE* result = nullptr;
  open_through(AT_FDCWD, path, flags_of_mode(mode), [&] {
    const Busy busy(t_thread);
    result = real(path, mode, stream);
    return result != nullptr ? fd_of(result) : -1;
  });
  return result;
}

int fclose_as(Symbol symbol, FILE* stream) {
  auto* real = next<FcloseFn>(symbol);
  return close_through(fd_of(stream), [=] {
    const Busy busy(t_thread);
    return real(stream);
  });
}

/// Seeking reads as well: numpy asks for a file's size by going to its end, which fetches its last page. Nothing is
/// recorded of it; emulated storage has to give it all the same.
template <class Call>
int seek_through(FILE* stream, Call call) {
  if (!emulating() || !awake() || t_thread.busy != 0 || kind_of(fd_of(stream)) != FdKind::regular) return call();
  const int fd = fd_of(stream);
  const off_t stood = held(stream) > 0 ? raw::position(fd) : -1;
  EmulatedRead emulated = before_emulated(fd, 0, SIZE_MAX);
  const int result = call();
  const off_t bytes = held(stream);
  if (emulated.fd < 0 || bytes <= 0) return result;
  const record::raw::ErrnoKeeper keeper;
  const off_t stands = raw::position(fd);
  emulated.offset = stands - bytes;
  if (stands != stood && emulated.offset >= 0) after_emulated(emulated, bytes);
  return result;
}

template <class Call>
std::size_t fread_through(std::size_t size, std::size_t count, FILE* stream, Call call) {
  std::size_t wanted = 0;
  if (__builtin_mul_overflow(size, count, &wanted) || wanted == 0) return call();
  std::size_t items = 0;
  stream_through(stream, buffered(stream) >= wanted, wanted, [&] {
    items = call();
    return items * size;
  });
  return items;
}

template <class Call>
char* fgets_through(char* line, int room, FILE* stream, Call call) {
  const std::size_t most = room > 0 ? static_cast<std::size_t>(room) - 1 : 0;
  char* result = nullptr;
  stream_through(stream, line_is_buffered(stream, '\n', most), BUFSIZ, [&] {
    result = call();
    return result != nullptr ? strlen(line) : 0;
  });
  return result;
}

template <class Call>
ssize_t getline_through(int end_of_line, FILE* stream, Call call) {
  ssize_t length = -1;
  stream_through(stream, line_is_buffered(stream, end_of_line, SIZE_MAX), BUFSIZ, [&] {
    length = call();
    return length > 0 ? static_cast<std::size_t>(length) : 0;
  });
  return length;
}

}  // namespace

STALLCAST_HOOK(FILE*, fopen, "fopen", (const char* path, const char* mode)) {
  return fopen_as(Symbol::fopen, path, mode);
}

STALLCAST_HOOK(FILE*, fopen64, "fopen64", (const char* path, const char* mode)) {
  return fopen_as(Symbol::fopen64, path, mode);
}

STALLCAST_HOOK(FILE*, freopen, "freopen", (const char* path, const char* mode, FILE* stream)) {
  return freopen_as(Symbol::freopen, path, mode, stream);
}

STALLCAST_HOOK(FILE*, freopen64, "freopen64", (const char* path, const char* mode, FILE* stream)) {
  return freopen_as(Symbol::freopen64, path, mode, stream);
}

STALLCAST_HOOK(int, fclose, "fclose", (FILE * stream)) {
  return fclose_as(Symbol::fclose, stream);
}

STALLCAST_HOOK(int, pclose, "pclose", (FILE * stream)) {
  return fclose_as(Symbol::pclose, stream);
}

STALLCAST_HOOK(std::size_t, fread, "fread", (void* to, std::size_t size, std::size_t count, FILE* stream)) {
  auto* real = next<FreadFn>(Symbol::fread);
  return fread_through(size, count, stream, [=] { return real(to, size, count, stream); });
}

STALLCAST_HOOK(std::size_t, fread_unlocked, "fread_unlocked",
               (void* to, std::size_t size, std::size_t count, FILE* stream)) {
  auto* real = next<FreadFn>(Symbol::fread_unlocked);
  return fread_through(size, count, stream, [=] { return real(to, size, count, stream); });
}

STALLCAST_HOOK(std::size_t, fread_chk, "__fread_chk",
               (void* to, std::size_t room, std::size_t size, std::size_t count, FILE* stream)) {
  auto* real = next<FreadChkFn>(Symbol::fread_chk);
  return fread_through(size, count, stream, [=] { return real(to, room, size, count, stream); });
}

STALLCAST_HOOK(std::size_t, fread_unlocked_chk, "__fread_unlocked_chk",
               (void* to, std::size_t room, std::size_t size, std::size_t count, FILE* stream)) {
  auto* real = next<FreadChkFn>(Symbol::fread_unlocked_chk);
  return fread_through(size, count, stream, [=] { return real(to, room, size, count, stream); });
}

STALLCAST_HOOK(int, fseek, "fseek", (FILE * stream, long offset, int whence)) {
  auto* real = next<FseekFn>(Symbol::fseek);
  return seek_through(stream, [=] { return real(stream, offset, whence); });
}

STALLCAST_HOOK(int, fseeko, "fseeko", (FILE * stream, off_t offset, int whence)) {
  auto* real = next<FseekoFn>(Symbol::fseeko);
  return seek_through(stream, [=] { return real(stream, offset, whence); });
}

STALLCAST_HOOK(int, fseeko64, "fseeko64", (FILE * stream, off_t offset, int whence)) {
  auto* real = next<FseekoFn>(Symbol::fseeko64);
  return seek_through(stream, [=] { return real(stream, offset, whence); });
}

STALLCAST_HOOK(char*, fgets, "fgets", (char* line, int room, FILE* stream)) {
  auto* real = next<FgetsFn>(Symbol::fgets);
  return fgets_through(line, room, stream, [=] { return real(line, room, stream); });
}

STALLCAST_HOOK(char*, fgets_unlocked, "fgets_unlocked", (char* line, int room, FILE* stream)) {
  auto* real = next<FgetsFn>(Symbol::fgets_unlocked);
  return fgets_through(line, room, stream, [=] { return real(line, room, stream); });
}

STALLCAST_HOOK(char*, fgets_chk, "__fgets_chk", (char* line, std::size_t size, int room, FILE* stream)) {
  auto* real = next<FgetsChkFn>(Symbol::fgets_chk);
  return fgets_through(line, room, stream, [=] { return real(line, size, room, stream); });
}

STALLCAST_HOOK(char*, fgets_unlocked_chk, "__fgets_unlocked_chk",
               (char* line, std::size_t size, int room, FILE* stream)) {
  auto* real = next<FgetsChkFn>(Symbol::fgets_unlocked_chk);
  return fgets_through(line, room, stream, [=] { return real(line, size, room, stream); });
}

STALLCAST_HOOK(ssize_t, getline, "getline", (char** line, std::size_t* room, FILE* stream)) {
  auto* real = next<GetlineFn>(Symbol::getline);
  return getline_through('\n', stream, [=] { return real(line, room, stream); });
}

STALLCAST_HOOK(ssize_t, getdelim, "getdelim", (char** line, std::size_t* room, int end, FILE* stream)) {
  auto* real = next<GetdelimFn>(Symbol::getdelim);
  return getline_through(end, stream, [=] { return real(line, room, end, stream); });
}

STALLCAST_HOOK(ssize_t, getdelim_internal, "__getdelim", (char** line, std::size_t* room, int end, FILE* stream)) {
  auto* real = next<GetdelimFn>(Symbol::getdelim_internal);
  return getline_through(end, stream, [=] { return real(line, room, end, stream); });
}

}  // namespace stallcast::capture
